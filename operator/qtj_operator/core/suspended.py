"""Suspended jobs: `spec.suspend`, which is at the top of the spec because Kueue expects it there.

::

    suspend: true    1. Suspended=True is recorded   2. pods and a running inference Job are deleted
    suspend: false   1. Suspended=False, the next attempt and a new deadline are recorded   2. pods are created

A resumed job starts another attempt, so that a pod that is still being deleted cannot be mistaken for a new one.
"""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.status import InferencePhase
from qtj_operator.core.change import NO_CHANGE, StatusChange, new_attempt
from qtj_operator.core.decision import Act, Move, Verdict, Wait, act_or_wait
from qtj_operator.core.inferring import inference_stopped
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import terminating_reason
from qtj_operator.core.removal import removal

__all__ = ["suspended"]


def suspended(seen: Observed, now: datetime) -> Verdict | None:
    """A suspended job has no pods and keeps its attempt and its weights; it continues from its last checkpoint."""
    if not seen.job.spec.suspend:
        return _resumed(seen, now) if seen.job.is_suspended else None
    return _stopped(seen, now) if seen.job.is_suspended else _suspended(seen)


def _suspended(seen: Observed) -> Move:
    return Move(_interrupted(seen), conditions=(conditions.suspended("spec.suspend is true"), _not_running()))


def _stopped(seen: Observed, now: datetime) -> Act | Wait:
    obstacle = terminating_reason(seen.pods, now)
    removed = removal((pod for pod in seen.pods if pod.active or pod.deleting), now)
    actions = (*removed.deletions, *inference_stopped(seen))
    return act_or_wait(actions, removed.wake_at, conditions=(_not_running(obstacle[1] if obstacle else None),))


def _resumed(seen: Observed, now: datetime) -> Move:
    resumed = conditions.resumed("spec.suspend is no longer true")
    attempt = seen.attempt if seen.job.is_trained else seen.attempt + 1
    start = seen.job.status.start_time or now
    change = StatusChange(start_time=start, active_since=now, attempt=attempt, restarts=seen.restarts, elastic=None)
    if seen.job.is_trained:
        return Move(change, conditions=(resumed,))
    starting = conditions.not_running(Reason.STARTING, f"attempt {attempt} starts")
    begins = new_attempt(attempt, leader_done=seen.leader_done)
    return Move(change | begins, conditions=(resumed, starting))


def _interrupted(seen: Observed) -> StatusChange:
    """Returns the change for an inference that is stopped; when the job is resumed, it starts over."""
    inference = seen.job.status.inference
    if inference is None or inference.phase != InferencePhase.RUNNING:
        return NO_CHANGE
    return StatusChange(inference=inference.changed(phase=InferencePhase.SUSPENDED))


def _not_running(obstacle: str | None = None) -> Fact:
    return conditions.not_running(Reason.SUSPENDED, "the job is suspended" + (f", but {obstacle}" if obstacle else ""))
