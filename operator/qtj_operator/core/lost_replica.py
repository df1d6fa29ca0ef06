"""A member of the gang that failed, is being deleted, or is gone.

Two workers, worker-1 preempted::

    worker-1  Running, DisruptionTarget, deleting   lost at once: its pod may be gone before it is seen Failed
    worker-0  Failed (75)                           lost its peer: the same disruption, not another failure

Two workers that ran, worker-1 deleted by hand: there is no pod to observe, but the record says that the gang has run
together, so a member without a pod was taken away. Before that, a quota may have refused it.

Two workers, the node of worker-1 lost::

    worker-0  Failed (75)    lost a peer, or may have: see `lost_peer`
    worker-1  Running        as its node reported last
    worker-1  not ready,     but its containers are, as the node reported last: the node is lost, a disruption
"""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import replica_name
from qtj_operator.core.backing_off import failures_in_a_row
from qtj_operator.core.budget import counted_restarts, since_checkpoint
from qtj_operator.core.change import KEEP, StatusChange, new_attempt
from qtj_operator.core.decision import Move, Wait
from qtj_operator.core.failure_policy import (
    counts_as_disruption,
    failed_by_exit_code,
    failed_by_rule,
    matching_action,
)
from qtj_operator.core.failures import described, give_up, times, with_failures
from qtj_operator.core.lost_peer import lost_a_peer, unexplained
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["lost_replica"]


def lost_replica(seen: Observed, now: datetime) -> Move | Wait | None:
    """The gang cannot continue without a lost member, so all of it restarts, or the job fails.

    A disruption (preemption, eviction, a lost node, a deletion) is not the program's fault and does not count against
    its budget. Nor does a peer that ends because of it: plain TensorFlow ends with 1 when it loses a peer. If another
    used too much memory at the same time, the restart counts, but that 1 is still not final.
    """
    unreachable = _unreachable(seen)
    lost = [pod for pod in seen.gang if seen.has_failed(pod) or _is_taken_away(seen, pod) or pod.name in unreachable]
    lost.sort(key=lost_a_peer)  # the cause is named first
    gone = _gone(seen)
    if not (lost or gone):
        return None
    why = described(lost[0]) if lost else f"{gone[0]} is gone"
    by_rule = next(filter(None, (failed_by_rule(seen.job, pod) for pod in lost)), None)
    if by_rule is not None:
        return give_up(seen, lost, Reason.REPLICA_FAILED, by_rule, now)
    others = [pod for pod in lost if pod.name not in unreachable and not counts_as_disruption(seen.job, pod)]
    is_disrupted = bool(gone) or len(others) < len(lost)
    if _by_disruption_alone(seen, others, is_disrupted=is_disrupted):
        return _disrupted(seen, lost, why, now)
    by_exit_code = next(filter(None, (failed_by_exit_code(seen.job, pod) for pod in lost)), None)
    if by_exit_code is not None and not is_disrupted:
        return unexplained(seen, lost, now) or give_up(seen, lost, Reason.REPLICA_FAILED, by_exit_code, now)
    return unexplained(seen, lost, now) or _failed(seen, lost, why, now)


def _disrupted(seen: Observed, lost: list[Pod], why: str, now: datetime) -> Move:
    disruptions, limit = seen.disruptions, seen.job.policy.disruption_limit
    if limit is not None and disruptions >= limit:
        often = f"{times(disruptions)} after disruptions, as often as {seen.job.named('disruption_limit')} allows"
        why = f"{why}; the gang was restarted {often}"
        return give_up(seen, lost, Reason.DISRUPTION_LIMIT_EXCEEDED, why, now)
    return _next_attempt(seen, lost, why, now, disruptions=1)


def _failed(seen: Observed, lost: list[Pod], why: str, now: datetime) -> Move:
    restarts = counted_restarts(seen)
    if restarts >= seen.job.backoff_limit:
        since = " since its last checkpoint" if seen.job.counts_per_checkpoint else ""
        often = f"{times(restarts)}{since}, as often as {seen.job.named('backoff_limit')} allows"
        why = f"{why}; the gang was restarted {often}"
        return give_up(seen, lost, Reason.BACKOFF_LIMIT_EXCEEDED, why, now)
    return _next_attempt(seen, lost, why, now, restarts=1)


def _is_taken_away(seen: Observed, pod: Pod) -> bool:
    """Whether the pod is being removed: deleted in a gang that runs or is queued, or disrupted.

    A pod whose success is recorded may go. A pod that was first seen when it was being deleted may have stopped because
    of that. Kueue releases a pod of a group only when the whole group has ended, and adds none to a group that it has
    stopped.
    """
    if not pod.deleting or pod.replica in seen.finished:
        return False
    return pod.disrupted or seen.job.queued or seen.gang_has_run


def _gone(seen: Observed) -> list[str]:
    """Returns members without a pod in a gang that was complete, or cannot be complete any more: they were deleted.

    Of a gang that does not count as running, a changed spec may name members that never had a pod.
    """
    was_complete = seen.gang_has_run and (seen.job.is_running or not seen.job.edited)
    if not (was_complete or _is_group_short(seen)):
        return []
    alone = seen.job.stands_alone
    return [replica_name(seen.job.name, r.role, r.index) for r in seen.missing if not alone(r.role)]


def _is_group_short(seen: Observed) -> bool:
    """Whether Kueue waits for more pods than the group can have: one has finished and is gone.

    Once the leader has finished, each pod is a group of its own.
    """
    if seen.job.leader_finished:
        return False
    present = {pod.replica for pod in seen.gang}
    return seen.job.queued and any(
        each not in present and not seen.job.stands_alone(each.role) for each in seen.finished
    )


def _unreachable(seen: Observed) -> set[str]:
    """Returns the pods whose node is lost, if the program of a replica that trains has failed.

    A node that works reports that a pod is not ready together with its containers.
    """
    trains = (pod for pod in seen.current if pod is not seen.evaluator)
    if not seen.gang_has_run or not any(map(seen.has_failed, trains)):
        return set()
    return {pod.name for pod in seen.gang if pod.missed and pod.running and not pod.deleting}


def _by_disruption_alone(seen: Observed, others: list[Pod], *, is_disrupted: bool) -> bool:
    """Whether only the cluster has caused the loss: the programs of `others` may have ended because of that."""
    if is_disrupted:
        return not any((pod.ending and pod.ending.exceeded_limits) or matching_action(seen.job, pod) for pod in others)
    return _never_complete(seen) and all(map(lost_a_peer, others))


def _never_complete(seen: Observed) -> bool:
    """Whether some member of the gang has never had a node: no program can cause that."""
    return not seen.is_whole(pod for pod in seen.gang if not pod.unplaced)


def _next_attempt(
    seen: Observed, lost: list[Pod], why: str, now: datetime, *, restarts: int = 0, disruptions: int = 0
) -> Move:
    attempt = seen.attempt + 1
    by_cluster = disruptions > 0 and all(matching_action(seen.job, pod) is None for pod in lost)
    which = "those that have not finished" if seen.leader_done else "all replicas"
    message = f"{why}; {which} restart as attempt {attempt}"
    counted = StatusChange(
        restarts=seen.restarts + restarts,
        disruptions=seen.disruptions + disruptions or None,
        failures=with_failures(seen, lost, now),
        consecutive_failures=failures_in_a_row(seen, now, by_cluster=by_cluster),
        last_failure_time=now,
        progress=KEEP if seen.leader_done else None,
    )
    change = counted | since_checkpoint(seen, restarts) | new_attempt(attempt, leader_done=seen.leader_done)
    return Move(change, conditions=(conditions.not_running(Reason.RESTARTING, message),))
