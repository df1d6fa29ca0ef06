"""A coordinator hands each step to whichever worker is free; the variables live on parameter servers.

Steps overlap, so a gradient may be of variables that others have changed meanwhile (asynchronous stochastic gradient
descent, Dean et al., "Large scale distributed deep networks", NIPS 2012). A step is named by its place in the order of
all examples. So every batch is taken once in an epoch whoever takes it, and a step that was lost with its worker is
given to another one.

A worker dies when it likes: also after its step and before the coordinator has the report. TensorFlow's own thread
then hands the step out again, but whoever asks for the report meanwhile gets the worker's error, as for any operation
that has to reach all processes. So what is asked here is asked again until no worker that is away stands in the way.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.replicate.strategy import is_of_worker
from qtj_trainer.run.batches import batch_at, steps_per_epoch
from qtj_trainer.run.loop import Boundary, Loop, Numbers, Report, Scored
from qtj_trainer.workloads import Examples, Workload
from qtj_trainer.workloads.options import Options

__all__ = ["Coordinated"]

_STEPS_FOR_EACH_WORKER = 2
"""Steps under way: one that is computed, and one that waits, so that no worker waits for its coordinator."""

_PAUSE = 0.2
"""Seconds until what a lost worker has spoilt is asked for again."""

_kept: list["Coordinated"] = []
"""Kept to the end of the process: to take a coordinator down, TensorFlow waits for workers that are away."""


class Coordinated(Loop):
    """For the coordinator alone."""

    def __init__(
        self,
        workload: Workload,
        options: Options,
        strategy: tf.distribute.ParameterServerStrategy,
        *,
        training: Examples,
        held_out: Examples,
        workers: int,
    ) -> None:
        super().__init__(workload, options, strategy, training=training, held_out=held_out)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._under_way: deque[Any] = deque()
        self._workers = workers
        self._window = _STEPS_FOR_EACH_WORKER * workers
        self._step = tf.function(self._train_at, autograph=False)
        self._test = tf.function(self._score_at, autograph=False)
        _kept.append(self)

    @property
    def devices(self) -> int:
        """Those of all workers, of which each takes steps of its own."""
        return self._workers * super().devices

    @property
    def is_settled(self) -> bool:
        """Whether no step is under way."""
        return not self._under_way

    def _reports(self, first: int, last: int, is_boundary: Boundary) -> Iterator[Report]:
        for step in range(first, last):
            place = tuple(tf.constant(each, tf.int64) for each in divmod(step, self.steps))
            self._under_way.append(self._coordinator.schedule(self._step, args=place))
            longest = 0 if is_boundary(step + 1) else self._window - 1
            while len(self._under_way) > longest:
                yield np.asarray(_patiently(self._under_way.popleft().fetch))

    def _score_all(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        rows = range(steps_per_epoch(len(self._held_out), self._options.batch_size))
        scheduled = [self._coordinator.schedule(self._test, args=(tf.constant(row, tf.int64),)) for row in rows]
        for each in scheduled:
            sums, readouts = _patiently(each.fetch)
            yield np.asarray(sums), {name: np.asarray(values) for name, values in readouts.items()}

    def _sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        return tensors  # a step has one replica

    def _read(self, variable: tf.Variable) -> NDArray[Any]:
        value: NDArray[Any] = _patiently(variable.numpy)
        return value

    def _train_at(self, epoch: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        def replica() -> tf.Tensor:
            options = self._options
            return self._train(batch_at(self._training, options.batch_size, epoch=epoch, row=row, seed=options.seed))

        return self._strategy.run(replica)

    def _score_at(self, row: tf.Tensor) -> tf.Tensor:
        def replica() -> Scored:
            zero = tf.constant(0, tf.int64)
            return self._score(batch_at(self._held_out, self._options.batch_size, epoch=zero, row=row))

        return self._strategy.run(replica)


def _patiently(ask: Callable[[], Any]) -> Any:  # noqa: ANN401  whatever is asked for
    """Returns the answer, however many workers go away meanwhile."""
    known: tf.errors.OpError | None = None
    while True:
        try:
            return ask()
        except tf.errors.OpError as problem:
            # A worker that is away is a new error each time. The same again is the coordinator's verdict on a step.
            if problem is known or not is_of_worker(problem):
                raise
            known = problem
        time.sleep(_PAUSE)
