"""A replica that the others can do without: a worker of a parameter-server cluster, or the evaluator.

::

    worker-1  Failed (137), not among status.failures   1. the failure is recorded, and the restart counted
    worker-1  Failed (137), among status.failures       2. the pod is deleted; then it is missing, and comes anew
"""

from datetime import datetime

from qtj_operator.api.conditions import ConditionType, Reason, is_true
from qtj_operator.api.names import Role
from qtj_operator.core.decision import Event, Verdict
from qtj_operator.core.failures import MAX_FAILURES, described, with_failures
from qtj_operator.core.lost_replica import give_up
from qtj_operator.core.observed import Observed, Pod
from qtj_operator.core.removal import removal

__all__ = ["lost_loner"]

_MOST_EVALUATIONS = 5
"""Tries of an evaluator whatever the budget: fewer than the status keeps failures, for they are counted there."""


def lost_loner(seen: Observed, now: datetime) -> Verdict | None:
    """It is replaced alone, within the same budget as a gang.

    The evaluator has as many tries of its own in each attempt: the job neither pays for it nor fails with it.
    """
    counted = {failure.uid for failure in seen.job.status.failures or ()}
    failed = (pod for pod in seen.loners if pod.failed and not _is_final_evaluation(seen, pod))
    # As many as the record holds at a time, those on record first: so none is counted twice.
    lost = sorted(failed, key=lambda pod: pod.uid not in counted)[:MAX_FAILURES]
    if not lost or is_true(seen.job.status.conditions, ConditionType.TRAINED):
        return None
    new = [pod for pod in lost if pod.uid not in counted]
    return _recorded(seen, new, now) if new else removal(lost, now)


def _is_evaluator(pod: Pod) -> bool:
    return pod.replica is not None and pod.replica.role == Role.EVALUATOR


def _is_final_evaluation(seen: Observed, pod: Pod) -> bool:
    """Whether the evaluator stays as it ended: by its own verdict, or because it fails again and again."""
    if not _is_evaluator(pod) or pod.taken_away:
        return False
    failures = seen.job.status.failures or ()
    before = sum(f.pod == pod.name and f.attempt == pod.attempt and f.uid != pod.uid for f in failures)
    return not pod.retryable or before >= min(seen.job.backoff_limit, _MOST_EVALUATIONS)


def _recorded(seen: Observed, lost: list[Pod], now: datetime) -> Verdict:
    status = seen.job.status
    permanent = next((pod for pod in lost if not pod.retryable), None)
    if permanent is not None:
        return give_up(seen, lost, Reason.REPLICA_FAILED, f"{described(permanent)}; this exit code is final", now)
    disrupted = sum(pod.taken_away for pod in lost)
    costly = [pod for pod in lost if not pod.taken_away and not _is_evaluator(pod)]
    restarts = (status.restarts or 0) + len(costly)
    if costly and restarts > seen.job.backoff_limit:
        why = f"{described(costly[0])}; replicas were restarted {status.restarts or 0} times, as backoffLimit allows"
        return give_up(seen, lost, Reason.BACKOFF_LIMIT_EXCEEDED, why, now)
    record = {
        "restarts": restarts,
        "disruptions": (status.disruptions or 0) + disrupted or None,
        "failures": with_failures(seen, lost, now),
    }
    events = tuple(
        Event("Warning", Reason.REPLICA_REPLACED, f"{described(pod)}; it is replaced, the others go on") for pod in lost
    )
    return Verdict(record=record, events=events)
