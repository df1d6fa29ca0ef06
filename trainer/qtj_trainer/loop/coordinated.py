"""A coordinator schedules each step on a free worker. The variables are on parameter servers.

Steps overlap, so a gradient may be of variables that other steps have changed in the meantime (asynchronous stochastic
gradient descent, Dean et al., "Large scale distributed deep networks", NIPS 2012). A step is identified by its position
in the order of all examples. So every batch is used once in an epoch by any of the workers, and a step that was lost
with its worker is scheduled on another one.

A worker can die at any time, also after its step and before the coordinator has the report. TensorFlow schedules that
step again in a thread, but until then a fetch of the report raises the worker's error, as does any operation that needs
all processes. So each fetch here is repeated until no missing worker makes it fail.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.loop.batches import batch_at, batches, steps_per_epoch
from qtj_trainer.loop.loop import Boundary, Loop, Numbers, Report, Scored
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.replicate.strategy import is_of_worker
from qtj_trainer.workloads import Workload
from qtj_trainer.workloads.options import Options

__all__ = ["Coordinated", "load_operations"]

_STEPS_FOR_EACH_WORKER = 2
"""Scheduled steps: one that is computed and one that waits, so that no worker waits for the coordinator."""

_PAUSE = 0.2
"""Seconds before a fetch that failed with a lost worker is repeated."""

_kept: list["Coordinated"] = []
"""Kept until the process ends: when a coordinator is deleted, TensorFlow waits for missing workers."""


class Coordinated(Loop):
    """The loop of the coordinator."""

    def __init__(self, task: Task, strategy: tf.distribute.ParameterServerStrategy, *, workers: int) -> None:
        super().__init__(task, strategy)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._under_way: deque[Any] = deque()
        self._workers = workers
        self._window = _STEPS_FOR_EACH_WORKER * workers
        self._step = tf.function(self._train_at, autograph=False)
        self._test = tf.function(self._score_at, autograph=False)
        _kept.append(self)

    @property
    def devices(self) -> int:
        """Devices of all workers, of which each takes separate steps."""
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
                yield np.asarray(_fetched(self._under_way.popleft().fetch))

    def _score_all(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        rows = range(steps_per_epoch(len(self._task.held_out), self._task.options.batch_size))
        scheduled = [self._coordinator.schedule(self._test, args=(tf.constant(row, tf.int64),)) for row in rows]
        for each in scheduled:
            sums, readouts = _fetched(each.fetch)
            yield np.asarray(sums), {name: np.asarray(values) for name, values in readouts.items()}

    def _sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        return tensors  # a step has one replica

    def _read(self, variable: tf.Variable) -> NDArray[Any]:
        value: NDArray[Any] = _fetched(variable.numpy)
        return value

    def _train_at(self, epoch: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        def replica() -> tf.Tensor:
            options = self._task.options
            with tf.name_scope("data"):
                batch = batch_at(self._task.training, options.batch_size, epoch=epoch, row=row, seed=options.seed)
            return self._train(batch)

        return self._strategy.run(replica)

    def _score_at(self, row: tf.Tensor) -> tf.Tensor:
        def replica() -> Scored:
            zero = tf.constant(0, tf.int64)
            return self._score(batch_at(self._task.held_out, self._task.options.batch_size, epoch=zero, row=row))

        return self._strategy.run(replica)


def _fetched(fetch: Callable[[], Any]) -> Any:
    """Returns a value that is fetched again as long as workers are lost."""
    previous: tf.errors.OpError | None = None
    while True:
        try:
            return fetch()
        except tf.errors.OpError as problem:
            # A missing worker is a new error object each time. The same object again is the final error of a step.
            if problem is previous or not is_of_worker(problem):
                raise
            previous = problem
        time.sleep(_PAUSE)


def load_operations(workload: Workload, options: Options) -> None:
    """Loads the TensorFlow operations of a workload's model in a worker or a parameter server.

    These run graphs that the coordinator has built. Operations that are not part of TensorFlow are in libraries, which
    are loaded when such a graph is first built. So this builds the graphs of a training step and an evaluation step, as
    the coordinator does, and discards them.
    """
    examples = workload.encode(workload.split(options).training, options)
    loop = Synchronous(Task(workload, options, examples, examples), tf.distribute.get_strategy())
    loop.trace(next(iter(batches(examples, 1))))
