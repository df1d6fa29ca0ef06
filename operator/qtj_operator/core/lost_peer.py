"""A program that may have ended because the node of a peer is lost, which the cluster notices up to a minute later.

Two workers on two nodes, that of worker-1 lost::

    worker-0  Failed (75)    lost a peer, by the contract, but which one?
    worker-0  Failed (1)     plain TensorFlow ends with 1 when it loses a peer; a bug does too
    worker-1  Running        as its node reported last

The operator waits until it sees a cause, or some time has passed. It does not wait for a program that names its own
error in its termination message, nor if all peers that run are on the node that has just reported the end.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from qtj_contract import EXIT_RETRY
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.core.change import Report
from qtj_operator.core.decision import Wait
from qtj_operator.core.failure_policy import failed_by_exit_code
from qtj_operator.core.failures import described
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["lost_a_peer", "unexplained"]

_NODE_MISSED = timedelta(seconds=75)
"""How long to wait for the reason why a program lost its peer. A crash is seen after a second or two. A lost node is
noticed after 40 to 60 seconds, depending on the configuration of the cluster."""
_EVICTED = _NODE_MISSED + timedelta(seconds=300)
"""How long to wait if a peer cannot be marked as missed, because it is not ready for another reason. Its eviction shows
the loss: by default, a pod tolerates that its node does not answer for 300 seconds."""


def unexplained(seen: Observed, lost: Sequence[Pod], now: datetime) -> Wait | None:
    """Waits if each of `lost` may have lost a peer, and peers seem to run: the cause may be seen later.

    It is about to be seen if the end of a peer is not explained yet. The time counts from when this was first seen,
    because the clock of a node may be wrong.
    """
    ends = any(pod.ends for pod in seen.gang)
    if not (lost and (ends or (seen.gang_has_run and all(_may_be_explained(seen, pod) for pod in lost)))):
        return None
    since = seen.job.status.peer_lost_time
    masked = any(pod.masked and pod.running for pod in seen.gang)
    due = (since or now) + (_EVICTED if masked else _NODE_MISSED)
    if now >= due:
        return None
    until = f"waiting until {due:%H:%M:%S} UTC to find out"
    first = lost[0]
    if lost_a_peer(first):
        message = f"{first.name} lost a peer; {until} which one"
    else:
        message = f"{described(first)}; {until} whether a peer's node was lost"
    reason = Reason.STARTING if seen.attempt == 1 else Reason.RESTARTING
    waits = conditions.running(message) if seen.job.is_running else conditions.not_running(reason, message)
    return Wait(due, report=Report(peer_lost_time=since or now), conditions=(waits,))


def lost_a_peer(pod: Pod) -> bool:
    """Tells whether the program says, by its exit code, that it ended only because it lost a peer.

    An init container has none: it asks for another try, as the installation of requirements does.
    """
    ending = pod.ending
    return pod.failed and ending is not None and ending.init is None and ending.exit_code == EXIT_RETRY


def _may_be_explained(seen: Observed, pod: Pod) -> bool:
    peers = [peer for peer in seen.gang if peer.running]
    if lost_a_peer(pod):
        return bool(peers)
    names_error = pod.message is not None and pod.message.error is not None
    elsewhere = any(peer.node != pod.node for peer in peers)
    return elsewhere and not names_error and failed_by_exit_code(seen.job, pod) is not None
