"""A member of the gang that ended badly, is being taken away, or is gone.

Two workers, worker-1 preempted::

    worker-1  Running, DisruptionTarget, deleting   lost at once: its pod may be gone before anybody sees it Failed
    worker-0  Failed (75)                           lost its peer, and says so: the same disruption, not another failure

Two workers that ran, worker-1 deleted by hand: there is no pod to ask, but a running gang that misses a member is lost.

Two workers, the node of worker-1 lost::

    worker-0  Failed (75)    lost a peer, but which? Until that is seen, for some time, nothing is decided
    worker-1  Running        so says its node's last word
    worker-1  not ready,     but its containers are, by the node's last word: the cluster misses the node, a disruption
"""

from datetime import datetime, timedelta

from qtj_contract import EXIT_RETRY
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import replica_name
from qtj_operator.api.run_policy import FailureAction
from qtj_operator.core.backing_off import failures_in_a_row
from qtj_operator.core.budget import counted_restarts, since_checkpoint
from qtj_operator.core.change import Report, StatusChange, new_attempt
from qtj_operator.core.decision import Move, Wait
from qtj_operator.core.failure_policy import costs_nothing, is_final, ruled
from qtj_operator.core.failures import described, give_up, times, with_failures
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["lost_replica"]

_NODE_MISSED = timedelta(seconds=75)
"""How long a program that lost its peer may wait for the peer's fate to show: a crash takes a second or two, and a node
that is gone is missed after 40 to 60 seconds, as the cluster is configured."""


def lost_replica(seen: Observed, now: datetime) -> Move | Wait | None:
    """Peers cannot go on without it, so the whole gang starts anew, or the job gives up.

    A disruption (preemption, eviction, a lost node, a deletion) says nothing about the program and costs nothing of its
    budget, and neither does the end of a peer beside it: plain TensorFlow ends with 1 when a peer goes.
    """
    unreachable = _unreachable(seen)
    lost = [pod for pod in seen.gang if pod.failed or _taken(seen, pod) or pod.name in unreachable]
    gone = _gone(seen)
    if not (lost or gone):
        return None
    why = described(lost[0]) if lost else f"{gone[0]} is gone"
    unwanted = next((pod for pod in lost if ruled(seen.job, pod) == FailureAction.FAIL), None)
    if unwanted is not None:
        return give_up(seen, lost, Reason.REPLICA_FAILED, f"{described(unwanted)}; failurePolicy says Fail", now)
    if _by_disruption(seen, lost, gone, unreachable):
        return _disrupted(seen, lost, why, now)
    permanent = next((pod for pod in lost if is_final(seen.job, pod)), None)
    if permanent is not None:
        return give_up(seen, lost, Reason.REPLICA_FAILED, f"{described(permanent)}; this exit code is final", now)
    return _unexplained(seen, lost, now) or _failed(seen, lost, why, now)


def _disrupted(seen: Observed, lost: list[Pod], why: str, now: datetime) -> Move:
    disruptions, limit = seen.disruptions, seen.job.policy.disruption_limit
    if limit is not None and disruptions >= limit:
        often = f"{times(disruptions)} after disruptions, as often as disruptionLimit allows"
        why = f"{why}; the gang was restarted {often}"
        return give_up(seen, lost, Reason.DISRUPTION_LIMIT_EXCEEDED, why, now)
    return _next_attempt(seen, lost, why, now, disruptions=1)


def _failed(seen: Observed, lost: list[Pod], why: str, now: datetime) -> Move:
    restarts = counted_restarts(seen)
    if restarts >= seen.job.backoff_limit:
        since = " since its last checkpoint" if seen.job.counts_per_checkpoint else ""
        why = f"{why}; the gang was restarted {times(restarts)}{since}, as often as backoffLimit allows"
        return give_up(seen, lost, Reason.BACKOFF_LIMIT_EXCEEDED, why, now)
    return _next_attempt(seen, lost, why, now, restarts=1)


def _taken(seen: Observed, pod: Pod) -> bool:
    """Whether somebody takes the pod away: it is being deleted in a gang that runs or is queued, or was told to go.

    One whose success is on record may go. One that was first seen when it was being deleted may only have obeyed. Kueue
    lets go of a group's pod only when none of the group is left, and takes no other into a group that it has stopped.
    """
    if not pod.deleting or pod.replica in seen.finished:
        return False
    return pod.disrupted or seen.job.queued or seen.job.is_running


def _gone(seen: Observed) -> list[str]:
    """Returns members that have no pod although the gang was complete, or can no longer be: somebody deleted them."""
    if not (seen.job.is_running or _is_short(seen)):
        return []
    alone = seen.job.stands_alone
    return [replica_name(seen.job.name, r.role, r.index) for r in seen.missing if not alone(r.role)]


def _is_short(seen: Observed) -> bool:
    """Whether Kueue waits in vain for as many pods as the group was to have: one has finished and is gone."""
    there = {pod.replica for pod in seen.gang}
    return seen.job.queued and any(each not in there and not seen.job.stands_alone(each.role) for each in seen.finished)


def _unreachable(seen: Observed) -> set[str]:
    """Returns the pods whose node the cluster misses, where a program has lost a peer.

    A node would say of a pod that it is not ready, too, but of its containers.
    """
    if not seen.job.is_running or not any(map(_lost_a_peer, seen.gang)):
        return set()
    return {pod.name for pod in seen.gang if pod.missed and pod.running and not pod.deleting}


def _lost_a_peer(pod: Pod) -> bool:
    """Whether the program may have ended for no other reason than that it lost a peer."""
    return pod.failed and pod.ending is not None and pod.ending.exit_code == EXIT_RETRY


def _by_disruption(seen: Observed, lost: list[Pod], gone: list[str], unreachable: set[str]) -> bool:
    """Whether something was done to the gang, and what else ended may have ended for that alone."""
    others = [pod for pod in lost if pod.name not in unreachable and not costs_nothing(seen.job, pod)]
    if gone or len(others) < len(lost):
        return not any((pod.ending and pod.ending.by_own_fault) or ruled(seen.job, pod) for pod in others)
    return _never_complete(seen) and all(map(_lost_a_peer, others))


def _never_complete(seen: Observed) -> bool:
    """Whether the cluster has not found a place for every member of the gang: no program can help that."""
    placed = {pod.replica for pod in seen.gang if not pod.unplaced} | seen.finished
    return not all(replica in placed or seen.job.stands_alone(replica.role) for replica in seen.job.replicas())


def _unexplained(seen: Observed, lost: list[Pod], now: datetime) -> Wait | None:
    """Waits where all that is seen are programs that lost a peer, and peers that run: the cause may still show.

    Counted from when it was first seen, for the clock of a node may be wrong by any amount.
    """
    if not (seen.job.is_running and all(map(_lost_a_peer, lost)) and any(pod.running for pod in seen.gang)):
        return None
    since = seen.job.status.peer_lost_time
    due = (since or now) + _NODE_MISSED
    return _wait(lost[0], since or now, due) if now < due else None


def _wait(reporter: Pod, since: datetime, due: datetime) -> Wait:
    """Leaves everything as it is: the job counts as running, so that a peer that goes meanwhile is seen to be taken."""
    message = f"{reporter.name} lost a peer; which one, or whether any, shows by {due:%H:%M:%S}"
    return Wait(due, report=Report(peer_lost_time=since), conditions=(conditions.running(message),))


def _next_attempt(
    seen: Observed, lost: list[Pod], why: str, now: datetime, *, restarts: int = 0, disruptions: int = 0
) -> Move:
    attempt = seen.attempt + 1
    message = f"{why}; all replicas start again as attempt {attempt}"
    counted = StatusChange(
        restarts=seen.restarts + restarts,
        disruptions=seen.disruptions + disruptions or None,
        failures=with_failures(seen, lost, now),
        consecutive_failures=failures_in_a_row(seen, now),
        last_failure_time=now,
        progress=None,
    )
    change = counted | since_checkpoint(seen, restarts) | new_attempt(attempt)
    return Move(change, conditions=(conditions.not_running(Reason.RESTARTING, message),))
