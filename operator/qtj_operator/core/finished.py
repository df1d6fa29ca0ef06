"""Jobs that are Complete or Failed."""

from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.core.decision import Delete, Kind, Verdict, earliest
from qtj_operator.core.inferring import inference_stopped, wanted_run
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
from qtj_operator.core.removal import LEAVE_TIME, removal

__all__ = ["finished"]


def finished(seen: Observed, now: datetime) -> Verdict | None:
    """Nothing starts any more; what is left is cleaned up, and in the end the job itself, when its author wants that.

    One thing reopens a trained job: another `spec.inference` than the one that was run, or none where one failed.
    """
    status = seen.job.status
    failed = is_true(status.conditions, ConditionType.FAILED)
    if not failed and not is_true(status.conditions, ConditionType.COMPLETE):
        return None
    if _inference_changed(seen):
        return _reopened(ConditionType.FAILED if failed else ConditionType.COMPLETE, now)
    end = status.completion_time or now
    return _expired(seen, end, now) or _cleaned(seen, end, now)


def _expired(seen: Observed, end: datetime, now: datetime) -> Verdict | None:
    due = _expiry(seen, end)
    if due is None or due > now:
        return None
    return Verdict(actions=(Delete(Kind.QUANTUM_TRAINING_JOB, seen.job.name, seen.job.version),))


def _expiry(seen: Observed, end: datetime) -> datetime | None:
    ttl = seen.job.policy.ttl_seconds_after_finished
    return None if ttl is None else end + timedelta(seconds=ttl)


def _cleaned(seen: Observed, end: datetime, now: datetime) -> Verdict:
    policy = seen.job.policy.clean_pod_policy or CleanPodPolicy.RUNNING
    left = [pod for pod in seen.pods if _is_in_the_way(pod, policy)]
    due = end + LEAVE_TIME
    patient = policy == CleanPodPolicy.RUNNING and now < due and bool(left)
    removed = Verdict(wake_at=due) if patient else removal(left, now)
    stopped = Verdict() if policy == CleanPodPolicy.NONE else _inference_cleaned(seen, due, now)
    wake_at = earliest(removed.wake_at, stopped.wake_at, _expiry(seen, end))
    return Verdict(actions=(*removed.actions, *stopped.actions), wake_at=wake_at)


def _inference_cleaned(seen: Observed, due: datetime, now: datetime) -> Verdict:
    """Stops an inference at once, but one whose program has ended only if a sidecar keeps its Job from its end."""
    stops = inference_stopped(seen)
    over = seen.inference is not None and seen.inference.result is not None
    return Verdict(wake_at=due) if stops and over and now < due else Verdict(actions=stops)


def _is_in_the_way(pod: Pod, policy: CleanPodPolicy) -> bool:
    if policy == CleanPodPolicy.NONE:
        return False
    return policy == CleanPodPolicy.ALL or not pod.stopped


def _inference_changed(seen: Observed) -> bool:
    status = seen.job.status
    if not is_true(status.conditions, ConditionType.TRAINED):
        return False
    failed = is_true(status.conditions, ConditionType.FAILED)
    wanted = wanted_run(seen)
    if wanted is None:  # a trained job fails by its inference alone, and that is asked for no more
        return failed
    if failed and status.inference is None:  # by an operator that ran none without weights: an upgrade reopens nothing
        return False
    return wanted != (status.inference.run if status.inference else None)


def _reopened(end: ConditionType, now: datetime) -> Verdict:
    """Takes the end back; the deadline is for the new run alone."""
    facts = [
        Fact(kind, status=False, reason=Reason.INFERRING, message="spec.inference was changed")
        for kind in dict.fromkeys((ConditionType.COMPLETE, end))
    ]
    return Verdict(record={"active_since": now}, facts=tuple(facts))
