"""How pods are removed, for any reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_operator.core.decision import Delete, Kind
from qtj_operator.core.pod import Ending, Pod

__all__ = ["LEAVE_TIME", "NODE_SILENCE", "Removal", "held_up", "is_lost", "lingering", "removal", "should_be_gone"]

LEAVE_TIME = timedelta(seconds=30)
"""How long a program that is no longer needed may take to end by itself."""

NODE_SILENCE = timedelta(seconds=15)
"""How long after a pod's deadline its node may take to confirm. A lost node never does, and the pod's name is needed
again: then the pod is deleted by force."""

_NODE_RECHECK = timedelta(seconds=30)
"""How often to check a node again that answers and does not end a pod."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The next step in the removal of some objects.

    Attributes:
        deletions: What to delete now.
        wake_at: When the next pass is due even if nothing happens.
    """

    deletions: tuple[Delete, ...] = ()
    wake_at: datetime | None = None


def removal(pods: Iterable[Pod], now: datetime) -> Removal:
    """Asks for the deletion of each pod once, and forces it if the node does not answer.

    A node that answers but does not end a pod, for example because a process waits for a disk, still runs it: if the
    pod were deleted by force, its replica would run twice.
    """
    pods = tuple(pods)
    asked = tuple(Delete(Kind.POD, pod.name, pod.version) for pod in pods if not pod.deleting)
    late = [pod for pod in pods if should_be_gone(pod, now)]
    forced = tuple(Delete(Kind.POD, pod.name, pod.version, force=True) for pod in late if _can_be_forced(pod))
    waiting = [pod.deadline + NODE_SILENCE for pod in pods if pod.deadline and not should_be_gone(pod, now)]
    waiting += [now + _NODE_RECHECK for pod in late if _runs_on(pod)]
    return Removal((*asked, *forced), min(waiting, default=None))


def should_be_gone(pod: Pod, now: datetime) -> bool:
    """Whether the pod's node should have confirmed that it is gone."""
    return pod.deadline is not None and pod.deadline + NODE_SILENCE <= now


def is_lost(pod: Pod, now: datetime) -> bool:
    """Whether the pod's node should have stopped it, but does not answer."""
    return should_be_gone(pod, now) and not pod.stopped and not _runs_on(pod)


def held_up(pod: Pod, now: datetime) -> str | None:
    """Returns one sentence about what delays the deletion of a pod; None if it is not late, or nothing does."""
    if not should_be_gone(pod, now):
        return None
    if _runs_on(pod):
        advice = "check that node, or delete the pod by force"
        return f"pod {pod.name} does not end although its node {pod.node} is ready: {advice}"
    if pod.finalizers:
        why = "waits for other controllers to remove their finalizers"
        return f"pod {pod.name} is being deleted and {why}: {', '.join(pod.finalizers)}"
    return None


def _can_be_forced(pod: Pod) -> bool:
    """Whether the deletion waits only for the node; if it waits for a finalizer, force has no effect."""
    return not _runs_on(pod) and not (pod.stopped and pod.finalizers)


def _runs_on(pod: Pod) -> bool:
    """Whether its node answers and still runs it."""
    return bool(pod.node_ready) and not pod.stopped


def lingering(pods: Iterable[Pod], now: datetime) -> Removal:
    """Removes pods whose program has ended but in which a sidecar still runs: others may need their machines."""
    dues = {pod: _leave_by(pod.ending, now) for pod in pods if pod.ending and pod.lingers}
    removed = removal((pod for pod, due in dues.items() if due <= now), now)
    waiting = (moment for moment in (removed.wake_at, *dues.values()) if moment is not None and moment > now)
    return Removal(removed.deletions, min(waiting, default=None))


def _leave_by(ending: Ending, now: datetime) -> datetime:
    """Returns when a pod's time to end is over; a node whose clock is ahead does not get more time."""
    if ending.time is None or ending.time > now + LEAVE_TIME:
        return now
    return ending.time + LEAVE_TIME
