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
    """Nothing starts any more; what is left is cleaned up, and in the end the job itself, when its author wants that.

    One thing reopens a trained job: another `spec.inference` than the one that was run, or none where one failed.
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
    return None if ttl is None else end + timedelta(seconds=ttl)


def _cleaned(seen: Observed, end: datetime, now: datetime) -> Act | Wait:
    policy = seen.job.policy.pods_to_clean
    left = [pod for pod in seen.pods if _is_in_the_way(pod, policy)]
    due = end + LEAVE_TIME
    patient = policy == CleanPodPolicy.RUNNING and now < due and bool(left)
    removed = Removal(wake_at=due) if patient else removal(left, now)
    stopped = Removal() if policy == CleanPodPolicy.NONE else _inference_cleaned(seen, due, now)
    wake_at = earliest(removed.wake_at, stopped.wake_at, _expiry(seen, end))
    return act_or_wait((*removed.deletions, *stopped.deletions), wake_at)


def _inference_cleaned(seen: Observed, due: datetime, now: datetime) -> Removal:
    """Stops an inference at once, but one whose program has ended only if a sidecar keeps its Job from its end."""
    stops = inference_stopped(seen)
    over = seen.inference is not None and seen.inference.result is not None
    return Removal(wake_at=due) if stops and over and now < due else Removal(stops)


def _is_in_the_way(pod: Pod, policy: CleanPodPolicy) -> bool:
    if policy == CleanPodPolicy.NONE:
        return False
    return policy == CleanPodPolicy.ALL or not pod.stopped


def _inference_changed(seen: Observed) -> bool:
    if not seen.job.is_trained:
        return False
    recorded, failed = seen.job.status.inference, seen.job.has_failed
    wanted = wanted_run(seen)
    if wanted is None:  # a trained job fails by its inference alone, and that is asked for no more
        return failed
    if failed and recorded is None:  # by an operator that ran none without weights: an upgrade reopens nothing
        return False
    return wanted != (recorded.run if recorded else None)


def _reopened(seen: Observed, now: datetime) -> Move:
    """Takes the end back; the deadline is for the new run alone."""
    why = (Reason.INFERRING, "spec.inference was changed")
    again = (conditions.not_complete(*why), *((conditions.not_failed(*why),) if seen.job.has_failed else ()))
    return Move(StatusChange(active_since=now), conditions=again)
