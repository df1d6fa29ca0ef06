"""All replicas take each step together: one device, several devices of a process, or several processes.

A call from Python into TensorFlow takes as long as the whole step of a small circuit. So a call takes several short
steps, but never goes beyond a boundary:

    boundary (end of an epoch, checkpoint, start of a profile)     |              |
    calls                                                  [· · · ·][·][· · · ·][·][·][· ·

Processes exchange their numbers within a call, so all must take the same calls. Each proposes how many steps the next
call takes, in the exchange of the gradients, and the fewest are taken. A call that begins at a boundary takes one step:
its proposals were made before that boundary was reached, and a profile may have begun there, which shows single steps.
"""

import time
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.exchange_clock import exchange_seconds
from qtj_trainer.loop.batches import Batch, batches, steps_per_epoch
from qtj_trainer.loop.loop import Boundary, Loop, Numbers, Report
from qtj_trainer.loop.task import Task
from qtj_trainer.workloads import Examples

__all__ = ["CALL_SECONDS", "MOST_STEPS", "Synchronous", "fewest"]

CALL_SECONDS = 0.1
"""How long the steps of one call may take: for so long SIGTERM waits."""

MOST_STEPS = 128
"""How many steps a call takes at most."""


class Synchronous(Loop):
    """Every process must iterate over `positions` in the same way, because they exchange gradients and sums."""

    def __init__(self, task: Task, strategy: tf.distribute.Strategy) -> None:
        super().__init__(task, strategy)
        # AutoGraph has nothing to convert here.
        self._steps = tf.function(self._train_some, autograph=False)
        self._test = tf.function(lambda each: strategy.run(self._score, args=(next(each),)), autograph=False)
        # Kept to the end: when one is deleted, several processes stop for 10 to 60 seconds.
        self._iterators: list[Iterator[Batch]] = []
        self._held_out_batches = self._distributed(task.held_out)
        self._step_seconds = inf
        self._ahead = 0

    @property
    def is_settled(self) -> bool:
        """Whether the last report is that of the last step of its call."""
        return not self._ahead

    def _reports(self, first: int, last: int, is_boundary: Boundary) -> Iterator[Report]:
        training = self._distributed(self._task.training, seed=self._task.options.seed, first_step=first)
        step, count = first, 1
        while step < last:
            began, waited, is_measured = time.perf_counter(), exchange_seconds(), self.clock.age() is not None
            proposed = self._proposal(step + count, last, is_boundary)
            # What a profile shows as one step; _r=1 tells TensorBoard so.
            with tf.profiler.experimental.Trace("train", step_num=step + 1, _r=1):
                rows = self._steps(training, tf.constant(count), tf.constant(proposed)).numpy()
            seconds = time.perf_counter() - began
            self._step_seconds = seconds / count
            if is_measured:  # otherwise the call was compiled
                self.clock.recent.add(seconds, exchange_seconds() - waited, count)
            for self._ahead, report in zip(reversed(range(count)), rows[:, :-MOST_STEPS], strict=True):
                yield report
            step += count
            count = fewest(rows[-1, -MOST_STEPS:])

    def _proposal(self, step: int, last: int, is_boundary: Boundary) -> int:
        """Returns how many steps this process proposes for a call that begins after `step` steps."""
        if is_boundary(step):
            return 1
        most = min(MOST_STEPS, last - step, int(CALL_SECONDS / self._step_seconds))
        return next((count for count in range(1, most) if is_boundary(step + count)), max(1, most))

    def _train_some(self, training: Iterator[Batch], count: tf.Tensor, proposed: tf.Tensor) -> tf.Tensor:
        """Takes `count` steps. Returns a row for each: its report, and how many replicas propose 1, 2, ... steps."""

        def step(index: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            row = self._local(self._strategy.run(self._propose, args=(next(training), proposed)))[0]
            return index + 1, rows.write(index, tf.cast(row, tf.float64))

        rows = tf.TensorArray(tf.float64, size=count)
        return tf.while_loop(lambda index, _: index < count, step, (0, rows), parallel_iterations=1)[1].stack()

    def _propose(self, batch: Batch, proposed: tf.Tensor) -> tf.Tensor:
        """Runs one replica's part of a step, and proposes how many steps the next call takes."""
        return self._train(batch, tf.one_hot(proposed - 1, MOST_STEPS))

    def _score_all(self) -> Iterator[tuple[Numbers, dict[str, Numbers]]]:
        for _ in range(steps_per_epoch(len(self._task.held_out), self._task.options.batch_size)):
            sums, readouts = self._test(self._held_out_batches)
            values = {name: self._local(each)[0].numpy() for name, each in readouts.items()}
            yield self._local(sums)[0].numpy(), values

    def _sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        context = tf.distribute.get_replica_context()
        if context.num_replicas_in_sync == 1:
            return tensors
        total: list[tf.Tensor] = context.all_reduce(tf.distribute.ReduceOp.SUM, tensors)
        return total

    def _read(self, variable: tf.Variable) -> NDArray[Any]:
        value: NDArray[Any] = self._local(variable)[0].numpy()
        return value

    def _local(self, value: Any) -> tuple[Any, ...]:
        each: tuple[Any, ...] = self._strategy.experimental_local_results(value)
        return each

    def _distributed(self, examples: Examples, *, seed: int | None = None, first_step: int = 0) -> Iterator[Batch]:
        def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
            replicas = context.num_replicas_in_sync
            local = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * local
            shares = [
                batches(
                    examples, self._task.options.batch_size,
                    replica=replica, replicas=replicas, seed=seed, first_step=first_step,
                )
                for replica in range(first, first + local)
            ]  # fmt: skip
            if local == 1:
                return shares[0]
            return tf.data.Dataset.choose_from_datasets(shares, tf.data.Dataset.range(local).repeat())

        iterator: Iterator[Batch] = iter(self._strategy.distribute_datasets_from_function(pipeline))
        self._iterators.append(iterator)
        return iterator


def fewest(proposals: NDArray[Any]) -> int:
    """Returns the fewest steps that anybody proposes: (steps,), how many replicas propose 1, 2, ... steps."""
    return 1 + int(np.flatnonzero(proposals)[0])
