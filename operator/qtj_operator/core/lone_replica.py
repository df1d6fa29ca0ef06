"""A replica that the others do not need: a worker of a parameter-server cluster, or the evaluator.

::

    worker-1  Failed (137), not among status.failures   1. the failure is recorded, and the restart counted
    worker-1  Failed (137), among status.failures       2. after a pause the pod is deleted, and created again
"""

from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.names import Role
from qtj_operator.core.backing_off import LONGEST_PAUSE, pause_after
from qtj_operator.core.budget import counted_restarts, since_checkpoint
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Act, Event, Move, Wait
from qtj_operator.core.failure_policy import counts_as_disruption, failed_by_exit_code, failed_by_rule
from qtj_operator.core.failures import MAX_FAILURES, described, give_up, times, with_failures
from qtj_operator.core.lost_peer import unexplained
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
from qtj_operator.core.removal import removal

__all__ = ["lone_replica", "next_replacement"]

_MAX_EVALUATOR_FAILURES = 5
"""Restarts of an evaluator, whatever the budget: fewer than the failures in the status, which count them."""


def lone_replica(seen: Observed, now: datetime) -> Move | Act | Wait | None:
    """Such a replica is replaced alone, within the same budget as a gang.

    The evaluator has a separate budget of the same size in each attempt: it does not use up the job's, and the job does
    not fail with it. Its last failure is recorded and reported like the others. A pod keeps its log while it waits to
    be replaced, and also if it is not replaced.
    """
    lost = _lost(seen)
    new = [pod for pod in lost if not _is_counted(seen, pod)]
    if new:
        return _recorded(seen, new, now)
    due = removal((pod for pod in lost if not _is_final_evaluation(seen, pod) and _due(seen, pod) <= now), now)
    return Act(due.deletions, wake_at=due.wake_at) if due.deletions else None  # a pod that waits delays no other


def next_replacement(seen: Observed, _after: Job, now: datetime) -> datetime | None:
    """Returns when the next recorded pod is deleted, so that it can be replaced."""
    recorded = (pod for pod in _lost(seen) if _is_counted(seen, pod) and not _is_final_evaluation(seen, pod))
    dues = (_due(seen, pod) for pod in recorded)
    return min((due for due in dues if due > now), default=None)


def _lost(seen: Observed) -> list[Pod]:
    """Returns at most as many pods as the record can hold, recorded ones first, so that none is counted twice."""
    failed = filter(seen.has_failed, seen.lone_pods)
    return sorted(failed, key=lambda pod: not _is_counted(seen, pod))[:MAX_FAILURES]


def _is_counted(seen: Observed, pod: Pod) -> bool:
    return any(failure.uid == pod.uid for failure in seen.failures)


def _due(seen: Observed, pod: Pod) -> datetime:
    """Returns when a recorded pod is deleted, so that it can be replaced."""
    own = [failure for failure in seen.failures if failure.pod == pod.name]
    last = next(failure.time for failure in own if failure.uid == pod.uid)
    return last + pause_after(max(len(own), _failures_of_each(seen)))


def _failures_of_each(seen: Observed) -> int:
    """Returns how often each has failed on average, if so many fail that the record does not show it; else 0.

    The record holds only the last failures: if many replicas fail, each failure would look like the first of its pod.
    """
    times = [failure.time for failure in seen.failures]
    if len(times) < MAX_FAILURES or max(times) - min(times) > MAX_FAILURES * LONGEST_PAUSE:
        return 0
    alone = sum(seen.job.stands_alone(replica.role) for replica in seen.job.replicas())
    return (seen.restarts + seen.disruptions) // alone


def _is_evaluator(pod: Pod) -> bool:
    return pod.replica is not None and pod.replica.role == Role.EVALUATOR


def _is_final_evaluation(seen: Observed, pod: Pod) -> bool:
    """Whether the evaluator is not replaced: because of its exit code, or because it has failed too often."""
    if not _is_evaluator(pod) or pod.taken_away:
        return False
    failures = seen.failures
    before = sum(f.pod == pod.name and f.attempt == pod.attempt and f.uid != pod.uid for f in failures)
    return not pod.retryable or before >= min(seen.job.backoff_limit, _MAX_EVALUATOR_FAILURES)


def _recorded(seen: Observed, lost: list[Pod], now: datetime) -> Move | Wait:
    needed = [pod for pod in lost if not _is_evaluator(pod)]
    why = _why_the_job_fails(seen, needed)
    if why is not None:
        final = [pod for pod in needed if failed_by_exit_code(seen.job, pod)]
        return unexplained(seen, final, now) or give_up(seen, lost, *why, now)
    disrupted = sum(counts_as_disruption(seen.job, pod) for pod in lost)
    costly = sum(not counts_as_disruption(seen.job, pod) for pod in needed)
    counted = StatusChange(
        restarts=seen.restarts + costly,
        disruptions=seen.disruptions + disrupted or None,
        failures=with_failures(seen, lost, now),
    )
    return Move(counted | since_checkpoint(seen, costly), events=tuple(_event(seen, pod) for pod in lost))


def _why_the_job_fails(seen: Observed, lost: list[Pod]) -> tuple[Reason, str] | None:
    """Returns why the job fails with one of these pods, if it does."""
    for pod in lost:
        why = failed_by_rule(seen.job, pod) or failed_by_exit_code(seen.job, pod)
        if why is not None:
            return Reason.REPLICA_FAILED, why
    costly = [pod for pod in lost if not counts_as_disruption(seen.job, pod)]
    restarts, disruptions = counted_restarts(seen), seen.disruptions
    if costly and restarts + len(costly) > seen.job.backoff_limit:
        allowed = f"{times(restarts)}, as {seen.job.named('backoff_limit')} allows"
        return Reason.BACKOFF_LIMIT_EXCEEDED, f"{described(costly[0])}; replicas were restarted {allowed}"
    limit, others = seen.job.policy.disruption_limit, len(lost) - len(costly)
    if limit is not None and others and disruptions + others > limit:
        allowed = f"{times(disruptions)}, as {seen.job.named('disruption_limit')} allows"
        return Reason.DISRUPTION_LIMIT_EXCEEDED, f"{described(lost[0])}; replicas were disrupted {allowed}"
    return None


def _event(seen: Observed, pod: Pod) -> Event:
    if _is_final_evaluation(seen, pod):
        return Event("Warning", Reason.EVALUATOR_FAILED, f"{described(pod)}; it is not replaced, training continues")
    return Event("Warning", Reason.REPLICA_REPLACED, f"{described(pod)}; it is replaced, the others continue")
