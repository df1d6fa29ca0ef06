"""Suspended jobs: `spec.suspend`, at the top as Kueue looks for it.

::

    suspend: true    1. Suspended=True is recorded   2. pods and a running inference Job go
    suspend: false   1. Suspended=False and the next attempt are recorded, and the deadline begins anew   2. pods come

The attempt moves on resuming, so that a pod that was still on its way out cannot be taken for a new one.
"""

from collections.abc import Mapping
from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.status import InferencePhase, InferenceStatus
from qtj_operator.core.decision import NEW_ATTEMPT, Verdict
from qtj_operator.core.inferring import inference_stopped
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import terminating_reason
from qtj_operator.core.removal import removal

__all__ = ["suspended"]


def suspended(seen: Observed, now: datetime) -> Verdict | None:
    """A suspended job has no pods and keeps its attempt and its weights; it goes on where its last checkpoint is."""
    was = is_true(seen.job.status.conditions, ConditionType.SUSPENDED)
    if not seen.job.spec.suspend:
        return _resumed(seen, now) if was else None
    if not was:
        facts = (_fact(Reason.SUSPENDED, "spec.suspend is true", status=True), _not_running())
        return Verdict(record=_interrupted(seen), facts=facts)
    held = terminating_reason(seen.pods, now)
    removed = removal((pod for pod in seen.pods if pod.active or pod.deleting), now)
    actions = (*removed.actions, *inference_stopped(seen))
    return Verdict(actions=actions, facts=(_not_running(held[1] if held else None),), wake_at=removed.wake_at)


def _resumed(seen: Observed, now: datetime) -> Verdict:
    fact = _fact(Reason.RESUMED, "spec.suspend is no longer true", status=False)
    trained = is_true(seen.job.status.conditions, ConditionType.TRAINED)
    attempt = seen.attempt if trained else seen.attempt + 1
    restarts, start = seen.job.status.restarts or 0, seen.job.status.start_time or now
    record = {"start_time": start, "active_since": now, "attempt": attempt, "restarts": restarts}
    if trained:
        return Verdict(record=record, facts=(fact,))
    starting = Fact(ConditionType.RUNNING, status=False, reason=Reason.STARTING, message=f"attempt {attempt} begins")
    return Verdict(record={**record, **NEW_ATTEMPT}, facts=(fact, starting))


def _interrupted(seen: Observed) -> Mapping[str, InferenceStatus]:
    """Returns what the record says of an inference that is stopped; on resuming it runs from its beginning."""
    inference = seen.job.status.inference
    if inference is None or inference.phase != InferencePhase.RUNNING:
        return {}
    return {"inference": inference.model_copy(update={"phase": InferencePhase.SUSPENDED})}


def _not_running(held: str | None = None) -> Fact:
    message = "the job is suspended" + (f", but {held}" if held else "")
    return Fact(ConditionType.RUNNING, status=False, reason=Reason.SUSPENDED, message=message)


def _fact(reason: Reason, message: str, *, status: bool) -> Fact:
    return Fact(ConditionType.SUSPENDED, status=status, reason=reason, message=message)
