"""The training loop: the same model, optimizer and sums for every strategy.

    start ──▶ report of a step ──▶ position ──▶ ... ──▶ end of an epoch: scores ──▶ position ──▶ ...

The strategy decides who takes a step: all replicas together (`Synchronous`), or a free worker that a coordinator
chooses (`Coordinated`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

from qtj_trainer.arrays.metrics import check_number, check_weights
from qtj_trainer.errors import UserError
from qtj_trainer.loop.batches import Batch, are_padded, batch_length, steps_per_epoch
from qtj_trainer.loop.optimizer import learning_rate_at, optimizer_of
from qtj_trainer.loop.readouts import all_readouts, in_places
from qtj_trainer.loop.step_report import Layout, Measured
from qtj_trainer.loop.stopping import best_of, has_stopped
from qtj_trainer.loop.stopwatch import Stopwatch
from qtj_trainer.loop.task import Task
from qtj_trainer.step_clock import StepClock
from qtj_trainer.stored.checkpoints import State
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads import Examples

__all__ = [
    "Boundary",
    "Loop",
    "Numbers",
    "Report",
    "Scored",
    "assign",
    "changed",
    "gradient_statistics",
    "named",
]

Numbers = NDArray[np.floating[Any]]

Report = Numbers
"""The numbers of one step: the loss, each score, then mean and variance of each variable's gradient."""

Boundary = Callable[[int], bool]
"""Returns whether the step of this number must end before a later step starts."""


class Scored(NamedTuple):
    """The scores of one held-out batch.

    Attributes:
        sums: The number of its examples, then the sum of the error and of each score over them.
        readouts: For each recorded layer, its values for the examples of all replicas.
    """

    sums: tf.Tensor
    readouts: dict[str, tf.Tensor]


class Loop(ABC):
    """Trains a model under a strategy.

    Attributes:
        model: The model.
        steps: Optimizer steps in an epoch.
        stopwatch: Measures the current epoch.
        clock: Tells how old the last step is.
        readouts: Values of the recorded layers after the last finished epoch, (values,) for each layer's name.
    """

    def __init__(self, task: Task, strategy: tf.distribute.Strategy) -> None:
        workload, options, training = task.workload, task.options, task.training
        self._task, self._workload = task, workload
        self._strategy = strategy
        self._remedy = f"lower --learning-rate, which is {options.learning_rate:g}"
        self.steps = steps_per_epoch(len(training), options.batch_size)
        self._padded = are_padded(len(training), options.batch_size, strategy.num_replicas_in_sync)
        self._last_step = options.epochs * self.steps
        self.readouts: dict[str, NDArray[Any]] = {}
        with strategy.scope():
            # AutoGraph has nothing to convert in the layers of a workload.
            self.model: tf_keras.Model = tf.autograph.experimental.do_not_convert(workload.model)(options)
            self._optimizer = optimizer_of(options, self._last_step)
            self._optimizer.build(self.model.trainable_variables)
        watched = {name: self.model.get_layer(name).output for name in workload.readouts(options)}
        self._observed = tf_keras.Model(self.model.inputs, (self.model.output, watched))
        self._best = self._weights() if options.patience else []
        sizes = tuple((name, each.shape.num_elements()) for name, each in named(self.model))
        self._layout = Layout(workload.scores, sizes)
        self._numbers: tuple[float, ...] = ()
        """Those of the last step."""
        self.stopwatch = Stopwatch()
        self.clock = StepClock()

    def positions(self, start: Position, pause: Boundary) -> Iterator[Position]:
        """Trains from a position to the end, step by step. All processes must iterate over it in the same way.

        Args:
            start: Where to start.
            pause: Returns whether the state is needed after the step of this number.

        Raises:
            DivergedError: If a loss or a score is not finite, in all processes at the same step.
        """
        if has_stopped(start, self._task.options):
            return
        position, first = start, start.step
        self.stopwatch.restart()
        for report in self._reports(first, self._last_step, lambda step: step % self.steps == 0 or pause(step)):
            position = self._after(position, report)
            if position.step % self.steps:
                yield position
                continue
            position = self._finished(position, self._examples_since(first) / self.stopwatch.seconds())
            if position.best and position.best is position.last:
                self._best = self._weights()
            yield position
            if has_stopped(position, self._task.options):
                return
            first = position.step
            self.stopwatch.restart()

    def trace(self, batch: Batch) -> None:
        """Builds the graphs of a training step and of an evaluation step on one replica, without running them."""
        for each in (self._train, self._score):
            tf.function(each, autograph=False).get_concrete_function(batch)

    @property
    def devices(self) -> int:
        """Number of devices that train, in all processes."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def examples(self) -> tuple[Examples, Examples]:
        """Training examples and held-out examples."""
        return self._task.training, self._task.held_out

    def measured(self) -> Measured:
        """Returns the numbers of the last step."""
        return self._layout.measured(self._numbers)

    def learning_rate_of(self, step: int) -> float:
        """Returns the learning rate of a step, counted from 1."""
        return learning_rate_at(step - 1, self._task.options, self._last_step)

    def validate(self) -> tuple[float, dict[str, float]]:
        """Returns the mean error and the mean scores over the held-out set. All processes must call it."""
        batches = list(self._scored())
        count, *sums = np.sum([sums for sums, _ in batches], axis=0, dtype=np.float64)
        watched = self._workload.readouts(self._task.options)
        self.readouts = {name: np.concatenate([readouts[name] for _, readouts in batches]) for name in watched}
        loss, *scores = (float(total / count) for total in sums)
        return loss, dict(zip(self._workload.scores, scores, strict=True))

    def _scored(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        """Yields the scores of each held-out batch, each of which counts as a step for the clock."""
        if not self.readouts:
            self.clock.stop()  # the first batch of all is compiled
        for scored in self._score_all():
            self.clock.step()
            yield scored

    def check_finite(self, step: int) -> None:
        """Checks the weights after a step. They are the same in all processes.

        Raises:
            DivergedError: If a weight is not finite.
        """
        trained = self.model.trainable_variables
        check_weights(((each.name, self._read(each)) for each in trained), step, self._remedy)

    def weights(self) -> dict[str, NDArray[Any]]:
        """Returns the weights that training changes, by layer and name. A single process can call it."""
        return {name: self._read(each) for name, each in named(self.model)}

    def state(self) -> State:
        """Returns all arrays that training changes, with the best weights. A single process can call it."""
        return [*(self._read(variable) for variable in self._variables), *self._best]

    def restore(self, state: State) -> None:
        """Restores what `state` returned, for any number of replicas. All processes must call it.

        Raises:
            UserError: If the state is of another model.
        """
        shapes = [tuple(variable.shape) for variable in self._variables]
        if [each.shape for each in state] != [*shapes, *(each.shape for each in self._best)]:
            raise UserError(f"the checkpoint is of another model than {self.model.name}: delete it to start over")
        assign(self._variables, state[: len(shapes)])
        self._best = list(state[len(shapes) :])

    def take_best(self) -> None:
        """Puts the weights of the best epoch into the model. For the end of a training with early stopping."""
        assign(changed(self.model), self._best)

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Whether the state is that of the last position, because no step is running."""

    @abstractmethod
    def _reports(self, first: int, last: int, is_boundary: Boundary) -> Iterator[Report]:
        """Runs the steps `first` to `last` - 1 and yields their reports, in order."""

    @abstractmethod
    def _score_all(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        """Yields the numbers of `Scored` for each held-out batch."""

    @abstractmethod
    def _sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over the replicas that take a step together, within that step."""

    @abstractmethod
    def _read(self, variable: tf.Variable) -> NDArray[Any]:
        """Returns a variable's value, without communication between processes."""

    @property
    def _variables(self) -> list[tf.Variable]:
        """All variables that training changes."""
        return [*changed(self.model), *self._optimizer.variables]

    def _weights(self) -> list[NDArray[Any]]:
        return [self._read(variable) for variable in changed(self.model)]

    def _train(self, batch: Batch, *more: tf.Tensor) -> tf.Tensor:
        """Runs one replica's part of a step.

        Args:
            batch: Its examples.
            more: Vectors of other numbers that are summed over the replicas.

        Returns:
            The `Report`, then the sums of `more`; the same on every replica.
        """
        variables = self.model.trainable_variables
        if self._padded:
            with tf.name_scope("data"):
                batch = batch.cut(self._workload.least_batch)
        with tf.name_scope("model"):
            with tf.GradientTape() as tape:
                predictions = self.model(batch.inputs, training=True)
                share = tf.reduce_sum(batch.weights * self._workload.errors(batch.labels, predictions))
            scores = self._workload.score(batch.labels, predictions)
            shares = tf.stack([share, *(tf.reduce_sum(batch.weights * scores[name]) for name in self._workload.scores)])
            slopes = tape.gradient(share, variables)
        # Sums are means here, because the weights of a batch sum to 1 over all replicas. Everything is summed together
        # with the gradients, in one exchange.
        with tf.name_scope("exchange"):
            numbers = [tf.cast(each, slopes[0].dtype) for each in (shares, *more)]
            means, *sums = self._sum([*numbers, *slopes])
            gradients = sums[len(more) :]
        with tf.name_scope("optimizer"):
            self._optimizer.apply_gradients(zip(gradients, variables, strict=True), skip_gradients_aggregation=True)
        return tf.concat([means, gradient_statistics(gradients), *sums[: len(more)]], axis=0)

    def _score(self, batch: Batch) -> Scored:
        """Evaluates one replica's part of a held-out batch."""
        part = batch.cut(self._workload.least_batch)
        predictions, watched = self._observed(part.inputs, training=False)
        scores = self._workload.score(part.labels, predictions)
        columns = [
            self._workload.errors(part.labels, predictions),
            *(scores[name] for name in self._workload.scores),
        ]
        sums = tf.stack([tf.reduce_sum(each * part.is_real) for each in (tf.ones_like(part.weights), *columns)])
        with tf.name_scope("exchange"):
            total, places = self._sum([sums, in_places(watched, batch.is_real)])
        return Scored(total, all_readouts(places, watched))

    def _after(self, position: Position, report: Report) -> Position:
        length = batch_length(len(self._task.training), self._task.options.batch_size, position.step % self.steps)
        check_number("loss", float(report[0]), position.step + 1, self._remedy)
        self._numbers = self._layout.with_norm(report.tolist())
        before = self._layout.sums_before(position.sums)
        sums = tuple(each + length * number for each, number in zip(before, self._numbers, strict=True))
        return Position(position.step + 1, position.last, sums, position.best)

    def _finished(self, position: Position, rate: float) -> Position:
        means = self._layout.measured([each / len(self._task.training) for each in position.sums])
        validation_loss, scores = self.validate()
        for name, value in {**scores, "loss": validation_loss}.items():
            check_number(f"{name} on the held-out set", value, position.step, self._remedy)
        finished = Epoch(
            number=position.step // self.steps,
            step=position.step,
            loss=means.loss,
            scores=scores,
            examples_per_second=rate,
            gradients=dict(means.gradients),
            validation_loss=validation_loss,
            training_scores=dict(means.scores),
            learning_rate=self.learning_rate_of(position.step),
            gradient_norm=means.gradient_norm,
        )
        return Position(position.step, finished, best=best_of(position.best, finished, self._task.options))

    def _examples_since(self, first: int) -> int:
        """Returns the number of examples from a step to the end of its epoch."""
        return len(self._task.training) - (first % self.steps) * self._task.options.batch_size


def gradient_statistics(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns mean and variance of each gradient, in turn: (2 * gradients,).

    `tf.nn.moments` takes twice as many operations, which are what the step of a small circuit consists of.
    """
    return tf.stack([number for each in gradients for number in _moments(each)])


def _moments(gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    mean = tf.reduce_mean(gradient)
    return mean, tf.reduce_mean(tf.math.squared_difference(gradient, mean))


def changed(model: tf_keras.Model) -> list[tf.Variable]:
    """Returns a model's variables that training changes. Frozen layers are loaded from their source at each start."""
    layers = [layer for layer in model.submodules if isinstance(layer, tf_keras.layers.Layer)]
    frozen = {id(each) for layer in layers if not layer.trainable for each in layer.variables}
    return [each for each in model.variables if id(each) not in frozen]


def named(model: tf_keras.Model) -> list[tuple[str, tf.Variable]]:
    """Returns the trained variables, by layer and name: variables of different filters may have the same name."""
    return [
        (f"{layer.name}/{variable.name.rpartition('/')[2].partition(':')[0]}", variable)
        for layer in model.layers
        for variable in layer.trainable_variables
    ]


def assign(variables: Sequence[tf.Variable], values: State) -> None:
    """Gives each variable its value."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
