"""Jobs that are Complete or Failed."""

from datetime import datetime, timedelta

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Act, Delete, Kind, Move, Verdict, Wait, act_or_wait, earliest
from qtj_operator.core.inferring import inference_stopped, wanted_run
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
from qtj_operator.core.removal import LEAVE_TIME, Removal, removal

__all__ = ["finished"]


def finished(seen: Observed, now: datetime) -> Verdict:
    """A finished job starts nothing: what is left is cleaned up, and the job is deleted when its time to live is over.

    A trained job is reopened only if its `spec.inference` differs from the one that was run, or if inference has failed
    and is removed from the spec.
    """
    if _inference_changed(seen):
        return _reopened(seen, now)
    end = seen.job.status.completion_time or now
    return _expired(seen, end, now) or _cleaned(seen, end, now)


def _expired(seen: Observed, end: datetime, now: datetime) -> Act | None:
    due = _expiry(seen, end)
    if due is None or due > now:
        return None
    return Act((Delete(Kind.QUANTUM_TRAINING_JOB, seen.job.name, seen.job.version),))


def _expiry(seen: Observed, end: datetime) -> datetime | None:
    ttl = seen.job.policy.ttl_seconds_after_finished
    return None if ttl is None or seen.job.is_trial else end + timedelta(seconds=ttl)


def _cleaned(seen: Observed, end: datetime, now: datetime) -> Act | Wait:
    policy = seen.job.policy.pods_to_clean
    left = [pod for pod in seen.pods if _is_to_be_deleted(pod, policy)]
    due = end + LEAVE_TIME
    waits = policy == CleanPodPolicy.RUNNING and now < due and bool(left)
    removed = Removal(wake_at=due) if waits else removal(left, now)
    stopped = Removal() if policy == CleanPodPolicy.NONE else _inference_cleaned(seen, due, now)
    wake_at = earliest(removed.wake_at, stopped.wake_at, _expiry(seen, end))
    return act_or_wait((*removed.deletions, *stopped.deletions), wake_at)


def _inference_cleaned(seen: Observed, due: datetime, now: datetime) -> Removal:
    """Stops inference at once, but if its program has ended, only after a sidecar has had time to end too."""
    stops = inference_stopped(seen)
    over = seen.inference is not None and seen.inference.result is not None
    return Removal(wake_at=due) if stops and over and now < due else Removal(stops)


def _is_to_be_deleted(pod: Pod, policy: CleanPodPolicy) -> bool:
    if pod.probe:
        return True
    if policy == CleanPodPolicy.NONE:
        return False
    return policy == CleanPodPolicy.ALL or not pod.stopped


def _inference_changed(seen: Observed) -> bool:
    if not seen.job.is_trained:
        return False
    recorded, failed = seen.job.status.inference, seen.job.has_failed
    wanted = wanted_run(seen)
    if wanted is None:  # a trained job only fails because of its inference, which was removed from the spec
        return failed
    if (
        failed and recorded is None
    ):  # written by an earlier operator, which ran no inference without weights: an upgrade must not reopen the job
        return False
    return wanted != (recorded.run if recorded else None)


def _reopened(seen: Observed, now: datetime) -> Move:
    """Reopens the job; the deadline counts for the new run only."""
    why = (Reason.INFERRING, "spec.inference was changed")
    again = (conditions.not_complete(*why), *((conditions.not_failed(*why),) if seen.job.has_failed else ()))
    return Move(StatusChange(active_since=now), conditions=again)
