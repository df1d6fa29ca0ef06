"""The training loop: the same steps on one replica and on many."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import tensorflow as tf
import tf_keras

from qtj_trainer.errors import UserError
from qtj_trainer.run.batches import Batch, batches, steps_per_epoch
from qtj_trainer.run.epoch import Epoch
from qtj_trainer.workloads import Examples, Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.run.checkpoints import State

__all__ = ["Epoch", "Loop"]


class Loop:
    """Trains a model on all replicas of a strategy.

    Every process has to go through `epochs` alike, since they exchange gradients and sums.
    """

    def __init__(
        self,
        workload: Workload,
        options: Options,
        strategy: tf.distribute.Strategy,
        *,
        training: Examples,
        held_out: Examples,
    ) -> None:
        self._workload = workload
        self._options = options
        self._strategy = strategy
        self._training = training
        self._held_out = held_out
        # Kept to the end: several processes stand still for 10 to 60 seconds when one is taken down among them.
        self._iterators: list[Iterator[Batch]] = []
        self.steps = steps_per_epoch(len(training), options.batch_size)
        with strategy.scope():
            self.model: tf_keras.Model = workload.model(options)
            # Compiled, the optimizer would compile anew in each process for nothing: it has 70 numbers to update.
            self._optimizer = tf_keras.optimizers.Adam(options.learning_rate, jit_compile=False)
            self._optimizer.build(self.model.trainable_variables)
            self._loss = tf_keras.metrics.Mean("loss")
            self._scores = {name: tf_keras.metrics.Mean(name) for name in workload.scores}
        self._train_all = tf.function(lambda batches: strategy.run(self._train, args=(next(batches),)))
        self._score_all = tf.function(lambda batches: strategy.run(self._score, args=(next(batches),)))

    def epochs(self, first: int = 0, on_step: Callable[[int], None] = lambda _: None) -> Iterator[Epoch]:
        """Trains, one epoch each time the next one is asked for.

        Args:
            first: Epochs finished before.
            on_step: Called after each optimizer step with their number so far.
        """
        training = self._distributed(self._training, seed=self._options.seed, first_epoch=first)
        held_out = self._distributed(self._held_out)
        for number in range(first, self._options.epochs):
            start = time.perf_counter()
            for step in range(self.steps):
                self._train_all(training)
                on_step(number * self.steps + step + 1)
            loss = _mean(self._loss)
            seconds = time.perf_counter() - start
            rate = len(self._training) / seconds
            yield Epoch(number + 1, (number + 1) * self.steps, loss, self._scored(held_out), rate)

    def state(self) -> "State":
        """Returns all numbers that training changes. One process may ask alone: it reads its own copies."""
        return [self._strategy.experimental_local_results(variable)[0].numpy() for variable in self._variables]

    def restore(self, state: "State") -> None:
        """Puts back what `state` returned, whatever the number of replicas was then. For all processes.

        Raises:
            UserError: If it is of another model.
        """
        if [each.shape for each in state] != [tuple(variable.shape) for variable in self._variables]:
            raise UserError(f"the checkpoint is of another model than {self.model.name}: delete it to start anew")
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value)

    @property
    def _variables(self) -> list[tf.Variable]:
        return [*self.model.variables, *self._optimizer.variables]

    def _scored(self, held_out: Iterator[Batch]) -> dict[str, float]:
        for _ in range(steps_per_epoch(len(self._held_out), self._options.batch_size)):
            self._score_all(held_out)
        return {name: _mean(score) for name, score in self._scores.items()}

    def _train(self, batch: Batch) -> None:
        with tf.GradientTape() as tape:
            errors = self._workload.errors(batch.labels, self.model(batch.inputs, training=True))
            share = tf.reduce_sum(batch.weights * errors)
        variables = self.model.trainable_variables
        # Sums over the replicas, which is right because their weights sum to 1.
        self._optimizer.apply_gradients(zip(tape.gradient(share, variables), variables, strict=True))
        self._loss.update_state(errors, sample_weight=batch.is_real)

    def _score(self, batch: Batch) -> None:
        scores = self._workload.score(batch.labels, self.model(batch.inputs, training=False))
        for name, score in self._scores.items():
            score.update_state(scores[name], sample_weight=batch.is_real)

    def _distributed(self, examples: Examples, *, seed: int | None = None, first_epoch: int = 0) -> Iterator[Batch]:
        def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
            replicas = context.num_replicas_in_sync
            local = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * local
            shares = [
                batches(
                    examples, self._options.batch_size,
                    replica=replica, replicas=replicas, seed=seed, first_epoch=first_epoch,
                )
                for replica in range(first, first + local)
            ]  # fmt: skip
            return tf.data.Dataset.choose_from_datasets(shares, tf.data.Dataset.range(local).repeat())

        iterator: Iterator[Batch] = iter(self._strategy.distribute_datasets_from_function(pipeline))
        self._iterators.append(iterator)
        return iterator


def _mean(metric: tf_keras.metrics.Mean) -> float:
    """Returns the mean over all replicas and starts a new one."""
    value = float(metric.result())
    metric.reset_state()
    return value
