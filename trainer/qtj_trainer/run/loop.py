"""The training loop: the same model, optimizer and sums, whatever the strategy.

    start ──▶ report of a step ──▶ position ──▶ ... ──▶ end of an epoch: scores ──▶ position ──▶ ...

How a step comes about is a strategy's own matter: all replicas take it together (`Synchronous`), or a coordinator hands
it to whichever worker is free (`Coordinated`).
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.run.batches import Batch, batch_length, steps_per_epoch
from qtj_trainer.run.checkpoints import State
from qtj_trainer.run.diverged import check_number, check_weights
from qtj_trainer.run.position import Epoch, Gradient, Position
from qtj_trainer.workloads import Examples, Workload
from qtj_trainer.workloads.options import Optimizer, Options

__all__ = ["Boundary", "Loop", "Numbers", "Report", "Scored"]

Numbers = NDArray[np.float32]

Report = Numbers
"""What one step came to: the loss, then mean and variance of each variable's gradient."""

Boundary = Callable[[int], bool]
"""Tells whether no later step may begin before the step of this number has ended."""

_OPTIMIZERS = {
    Optimizer.ADAM: tf_keras.optimizers.Adam,
    Optimizer.SGD: tf_keras.optimizers.SGD,
    Optimizer.RMSPROP: tf_keras.optimizers.RMSprop,
    Optimizer.ADAGRAD: tf_keras.optimizers.Adagrad,
}


class Scored(NamedTuple):
    """What one held-out batch came to.

    Attributes:
        sums: The number of its examples, then the sum of each score over them.
        readouts: For each layer that is watched, its values for the examples this process has seen.
    """

    sums: tf.Tensor
    readouts: dict[str, tf.Tensor]


class Loop(ABC):
    """Trains a model under a strategy.

    Attributes:
        model: The model.
        steps: Optimizer steps in an epoch.
        readouts: Values of the watched layers after the last finished epoch, (values,) for each layer's name.
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
        self._remedy = f"lower --learning-rate, which is {options.learning_rate:g}"
        self.steps = steps_per_epoch(len(training), options.batch_size)
        self.readouts: dict[str, NDArray[Any]] = {}
        with strategy.scope():
            self.model: tf_keras.Model = workload.model(options)
            # Compiled, the optimizer would compile anew in each process for nothing: it has 70 numbers to update.
            self._optimizer = _OPTIMIZERS[options.optimizer](options.learning_rate, jit_compile=False)
            self._optimizer.build(self.model.trainable_variables)
        watched = {name: self.model.get_layer(name).output for name in workload.readouts(options)}
        self._observed = tf_keras.Model(self.model.inputs, (self.model.output, watched))

    def positions(self, start: Position, pause: Boundary) -> Iterator[Position]:
        """Trains from a position to the end, step by step. All processes have to go through it alike.

        Args:
            start: Where to begin.
            pause: Tells whether the state is wanted after the step of this number.

        Raises:
            DivergedError: If a loss or a score is not finite, in all processes at the same step.
        """
        position, first, began = start, start.step, time.perf_counter()

        def is_boundary(step: int) -> bool:
            return step % self.steps == 0 or pause(step)

        for report in self._reports(start.step, self._options.epochs * self.steps, is_boundary):
            position = self._after(position, report)
            if position.step % self.steps:
                yield position
                continue
            seconds = time.perf_counter() - began
            position = self._finished(position, self._examples_since(first) / seconds)
            yield position
            first, began = position.step, time.perf_counter()

    def trace(self, batch: Batch) -> None:
        """Makes the graphs of a step and of a scoring on one replica, and takes neither."""
        for each in (self._train, self._score):
            tf.function(each, autograph=False).get_concrete_function(batch)

    @property
    def examples(self) -> tuple[Examples, Examples]:
        """Those it learns from, and those it is judged by."""
        return self._training, self._held_out

    def scores(self) -> dict[str, float]:
        """Returns the scores of the held-out set, by name. For all processes."""
        batches = list(self._score_all())
        count, *sums = np.sum([sums for sums, _ in batches], axis=0, dtype=np.float64)
        watched = self._workload.readouts(self._options)
        self.readouts = {name: np.concatenate([readouts[name] for _, readouts in batches]) for name in watched}
        return {name: float(total / count) for name, total in zip(self._workload.scores, sums, strict=True)}

    def check_weights(self, step: int) -> None:
        """Checks the weights after a step, which hold the same in all processes.

        Raises:
            DivergedError: If one is not finite.
        """
        trained = self.model.trainable_variables
        check_weights(((each.name, self._read(each)) for each in trained), step, self._remedy)

    def state(self) -> State:
        """Returns all numbers that training changes. One process may ask alone."""
        return [self._read(variable) for variable in self._variables]

    def restore(self, state: State) -> None:
        """Puts back what `state` returned, whatever the number of replicas was then. For all processes.

        Raises:
            UserError: If it is of another model.
        """
        if [each.shape for each in state] != [tuple(variable.shape) for variable in self._variables]:
            raise UserError(f"the checkpoint is of another model than {self.model.name}: delete it to start anew")
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value)

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Whether the state is that of the last position: no step is under way."""

    @abstractmethod
    def _reports(self, first: int, last: int, is_boundary: Boundary) -> Iterator[Report]:
        """Takes the steps `first` to `last` - 1 and yields their reports, in order."""

    @abstractmethod
    def _score_all(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        """Yields the numbers of `Scored` for each held-out batch."""

    @abstractmethod
    def _sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over the replicas that take a step together, within that step."""

    @abstractmethod
    def _read(self, variable: tf.Variable) -> NDArray[Any]:
        """Returns a variable's value, without help from others."""

    @property
    def _variables(self) -> list[tf.Variable]:
        """All that training changes: a frozen layer comes from where it came from at first."""
        layers = [layer for layer in self.model.submodules if isinstance(layer, tf_keras.layers.Layer)]
        frozen = {id(each) for layer in layers if not layer.trainable for each in layer.variables}
        return [*(each for each in self.model.variables if id(each) not in frozen), *self._optimizer.variables]

    def _train(self, batch: Batch) -> tf.Tensor:
        """Takes one replica's part in a step, and returns the `Report`, the same on every replica."""
        batch, variables = batch.cut(self._workload.least_batch), self.model.trainable_variables
        with tf.GradientTape() as tape:
            errors = self._workload.errors(batch.labels, self.model(batch.inputs, training=True))
            share = tf.reduce_sum(batch.weights * errors)
        # Sums are means here, because the weights of a batch sum to 1 over all replicas. The loss travels with the
        # gradients, in one exchange.
        loss, *gradients = self._sum([share, *tape.gradient(share, variables)])
        self._optimizer.apply_gradients(zip(gradients, variables, strict=True), skip_gradients_aggregation=True)
        moments = [tf.nn.moments(tf.reshape(each, [-1]), axes=0) for each in gradients]
        return tf.stack([loss, *(number for pair in moments for number in pair)])

    def _score(self, batch: Batch) -> Scored:
        """Takes one replica's part in the scoring of a held-out batch."""
        batch = batch.cut(self._workload.least_batch)
        predictions, watched = self._observed(batch.inputs, training=False)
        scores = self._workload.score(batch.labels, predictions)
        sums = [tf.reduce_sum(scores[name] * batch.is_real) for name in self._workload.scores]
        real = {name: tf.reshape(tf.boolean_mask(each, batch.weights > 0), [-1]) for name, each in watched.items()}
        return Scored(tf.stack(self._sum([tf.reduce_sum(batch.is_real), *sums])), real)

    def _after(self, position: Position, report: Report) -> Position:
        length = batch_length(len(self._training), self._options.batch_size, position.step % self.steps)
        check_number("loss", float(report[0]), position.step + 1, self._remedy)
        before = position.sums or (0.0,) * len(report)
        sums = tuple(each + length * float(number) for each, number in zip(before, report, strict=True))
        return Position(position.step + 1, position.last, sums)

    def _finished(self, position: Position, rate: float) -> Position:
        loss, *moments = (each / len(self._training) for each in position.sums)
        # A variable's own name need not tell its layer, and filters are alike but for that.
        names = [
            f"{layer.name}/{variable.name.rpartition('/')[2].partition(':')[0]}"
            for layer in self.model.layers
            for variable in layer.trainable_variables
        ]
        gradients = {
            name: Gradient(mean, variance)
            for name, mean, variance in zip(names, moments[::2], moments[1::2], strict=True)
        }
        number = position.step // self.steps
        scores = self.scores()
        for name, value in scores.items():
            check_number(f"{name} on the held-out set", value, position.step, self._remedy)
        return Position(position.step, Epoch(number, position.step, loss, scores, rate, gradients))

    def _examples_since(self, first: int) -> int:
        """Returns the examples from a step to the end of its epoch."""
        return len(self._training) - (first % self.steps) * self._options.batch_size
