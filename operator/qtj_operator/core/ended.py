"""Jobs that have ended."""

from datetime import datetime, timedelta

from qtj_operator.api.conditions import ConditionType, Fact, Reason, is_true
from qtj_operator.core.decision import Delete, Kind, Verdict
from qtj_operator.core.inferring import wanted_run
from qtj_operator.core.observed import Observed

__all__ = ["LEAVE_TIME", "ended"]

LEAVE_TIME = timedelta(seconds=30)
"""How long replicas may take to leave by themselves once the job has ended; after that they only cost money."""


def ended(seen: Observed, now: datetime) -> Verdict | None:
    """Nothing starts any more; replicas that still run some time after the end are stopped.

    One thing reopens a trained job: another `spec.inference` than the one that was run.
    """
    status = seen.job.status
    failed = is_true(status.conditions, ConditionType.FAILED)
    if not failed and not is_true(status.conditions, ConditionType.COMPLETE):
        return None
    if _inference_changed(seen):
        return _reopened() if failed else None
    left = [pod for pod in seen.pods if pod.active]
    due = (status.completion_time or now) + LEAVE_TIME
    if left and now < due:
        return Verdict(wake_at=due)
    return Verdict(actions=tuple(Delete(Kind.POD, pod.name, pod.uid) for pod in left))


def _inference_changed(seen: Observed) -> bool:
    status = seen.job.status
    wanted = wanted_run(seen)
    done = status.inference.run if status.inference else None
    if not is_true(status.conditions, ConditionType.TRAINED) or wanted is None:
        return False
    return wanted != done


def _reopened() -> Verdict:
    fact = Fact(ConditionType.FAILED, status=False, reason=Reason.INFERRING, message="spec.inference was changed")
    return Verdict(facts=(fact,))
