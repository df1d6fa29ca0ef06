"""How pods are removed, whatever the reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_operator.core.decision import Delete, Kind
from qtj_operator.core.ending import Ending
from qtj_operator.core.pod import Pod

__all__ = ["LEAVE_TIME", "NODE_SILENCE", "Removal", "held_up", "is_late", "is_lost", "lingering", "removal"]

LEAVE_TIME = timedelta(seconds=30)
"""How long what is no longer needed may take to leave by itself; after that it only costs money."""

NODE_SILENCE = timedelta(seconds=15)
"""How long after a pod's deadline its node may take to confirm. A node that is gone never does, and the pod's name is
needed again: then the pod is deleted without it."""

_NODE_RECHECK = timedelta(seconds=30)
"""How often a node is looked at again that answers and does not end a pod."""


@dataclass(frozen=True, slots=True)
class Removal:
    """How far the removal of some objects is.

    Attributes:
        deletions: What is to be deleted now.
        wake_at: When to look again although nothing happens.
    """

    deletions: tuple[Delete, ...] = ()
    wake_at: datetime | None = None


def removal(pods: Iterable[Pod], now: datetime) -> Removal:
    """Asks for the deletion of each pod once, and insists where the node does not answer.

    A node that answers and does not end a pod, for example because a process waits for a disk, runs it still: without
    the pod, its replica would run twice.
    """
    pods = tuple(pods)
    asked = tuple(Delete(Kind.POD, pod.name, pod.version) for pod in pods if not pod.deleting)
    late = [pod for pod in pods if is_late(pod, now)]
    forced = tuple(Delete(Kind.POD, pod.name, pod.version, force=True) for pod in late if _can_be_forced(pod))
    waiting = [pod.deadline + NODE_SILENCE for pod in pods if pod.deadline and not is_late(pod, now)]
    waiting += [now + _NODE_RECHECK for pod in late if _runs_on(pod)]
    return Removal((*asked, *forced), min(waiting, default=None))


def is_late(pod: Pod, now: datetime) -> bool:
    """Whether the pod's node should have confirmed that it is gone."""
    return pod.deadline is not None and pod.deadline + NODE_SILENCE <= now


def is_lost(pod: Pod, now: datetime) -> bool:
    """Whether the pod's node should have stopped it, and does not answer."""
    return is_late(pod, now) and not pod.stopped and not _runs_on(pod)


def held_up(pod: Pod, now: datetime) -> str | None:
    """Returns a sentence that names what keeps a pod that is late from going, where that is known."""
    if not is_late(pod, now):
        return None
    if _runs_on(pod):
        cure = "look at that node, or delete the pod by force"
        return f"pod {pod.name} does not end although its node {pod.node} is ready: {cure}"
    if pod.finalizers:
        why = "waits for other controllers to remove their finalizers"
        return f"pod {pod.name} is being deleted and {why}: {', '.join(pod.finalizers)}"
    return None


def _can_be_forced(pod: Pod) -> bool:
    """Whether the deletion waits for the node alone; where it waits for a finalizer, force changes nothing."""
    return not _runs_on(pod) and not (pod.stopped and pod.finalizers)


def _runs_on(pod: Pod) -> bool:
    """Whether its node answers and has not stopped it."""
    return bool(pod.node_ready) and not pod.stopped


def lingering(pods: Iterable[Pod], now: datetime) -> Removal:
    """Removes pods whose program has ended and in which a sidecar runs on: they hold machines that others may need."""
    dues = {pod: _leave_by(pod.ending, now) for pod in pods if pod.ending and pod.lingers}
    removed = removal((pod for pod, due in dues.items() if due <= now), now)
    waiting = (moment for moment in (removed.wake_at, *dues.values()) if moment is not None and moment > now)
    return Removal(removed.deletions, min(waiting, default=None))


def _leave_by(ending: Ending, now: datetime) -> datetime:
    """Returns when a pod's time to leave is over; a node's clock that is ahead does not put it off for as long."""
    if ending.time is None or ending.time > now + LEAVE_TIME:
        return now
    return ending.time + LEAVE_TIME
