"""Each process takes whole steps, because a step takes less time than an exchange of gradients with the others.

All processes compute the same numbers from the same examples. At the end of each epoch, they take the numbers of the
leader, in one exchange:

    leader      [step][step][step][step] ──▶ scores ──▶ numbers ──▶ [step][step][step][step]
    follower    [step][step][step][step] ──▶ scores ──▶    └──────▶ [step][step][step][step]

So all are in the same epoch, and a lost process is noticed at its end. Processors of different kinds round differently:
without the leader's numbers, a follower could stop early in another epoch.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from qtj_trainer.loop.loop import assign
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task

__all__ = ["IndependentSteps", "of_first"]


class IndependentSteps(Synchronous):
    """The loop of a process that trains like one without peers, and meets them at the end of each epoch.

    Args:
        strategy: That of all processes, with one replica in each of them.

    Attributes:
        of_leader: Returns the leader's numbers for those of this process; all processes must call it.
    """

    def __init__(self, task: Task, strategy: tf.distribute.Strategy) -> None:
        super().__init__(task, tf.distribute.get_strategy())
        self._all = strategy
        self.of_leader = tf.function(lambda mine: strategy.run(of_first, args=(mine,)), autograph=False)

    @property
    def devices(self) -> int:
        """Devices of all processes."""
        return int(self._all.num_replicas_in_sync)

    def validate(self) -> tuple[float, dict[str, float]]:
        """Returns the leader's mean error and mean scores. All processes must call it: they take its weights too."""
        loss, scores = super().validate()
        loss, *values = self._follow([loss, *scores.values()])
        return loss, dict(zip(scores, values, strict=True))

    def _follow(self, numbers: Sequence[float]) -> list[float]:
        """Takes all that training changes from the leader. Returns the leader's `numbers`."""
        state = [self._read(each) for each in self._variables]
        # Exact: weights are in single or double precision, and a number of steps is below 2^53.
        mine = np.concatenate([np.asarray(each, np.float64).ravel() for each in (numbers, *state)])
        leaders = self._all.experimental_local_results(self.of_leader(mine))[0].numpy()
        if not np.array_equal(mine, leaders):
            ends = np.cumsum([len(numbers), *(each.size for each in state)])[:-1]
            parts = np.split(leaders, ends)[1:]
            pairs = zip(parts, state, strict=True)
            assign(self._variables, [part.reshape(each.shape).astype(each.dtype) for part, each in pairs])
        return [float(each) for each in leaders[: len(numbers)]]


def of_first(mine: tf.Tensor) -> tf.Tensor:
    """Returns the numbers of the first replica, which is the leader's. All replicas must call it."""
    context = tf.distribute.get_replica_context()
    leads = tf.equal(context.replica_id_in_sync_group, 0)
    total: tf.Tensor = context.all_reduce(tf.distribute.ReduceOp.SUM, tf.where(leads, mine, tf.zeros_like(mine)))
    return total
