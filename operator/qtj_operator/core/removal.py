"""How pods are removed, whatever the reason."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from qtj_operator.core.decision import Delete, Kind, Verdict
from qtj_operator.core.pod import Ending, Pod

__all__ = ["LEAVE_TIME", "NODE_SILENCE", "lingering", "removal"]

LEAVE_TIME = timedelta(seconds=30)
"""How long what is no longer needed may take to leave by itself; after that it only costs money."""

NODE_SILENCE = timedelta(seconds=15)
"""How long after a pod's deadline its node may take to confirm. A node that is gone never does, and the pod's name is
needed again: then the pod is deleted without it."""


def removal(pods: Iterable[Pod], now: datetime) -> Verdict:
    """Asks for the deletion of each pod once, and insists where the node does not answer."""
    pods = tuple(pods)
    deadlines = {pod: pod.deadline + NODE_SILENCE for pod in pods if pod.deadline is not None}
    asked = tuple(Delete(Kind.POD, pod.name, pod.version) for pod in pods if pod not in deadlines)
    forced = tuple(Delete(Kind.POD, pod.name, pod.version, force=True) for pod, due in deadlines.items() if due <= now)
    waiting = [due for due in deadlines.values() if due > now]
    return Verdict(actions=(*asked, *forced), wake_at=min(waiting, default=None))


def lingering(pods: Iterable[Pod], now: datetime) -> Verdict:
    """Removes pods whose program has ended and in which a sidecar runs on: they hold machines that others may need."""
    dues = {pod: _leave_by(pod.ending, now) for pod in pods if pod.ending and pod.lingers}
    removed = removal((pod for pod, due in dues.items() if due <= now), now)
    waiting = (moment for moment in (removed.wake_at, *dues.values()) if moment is not None and moment > now)
    return Verdict(actions=removed.actions, wake_at=min(waiting, default=None))


def _leave_by(ending: Ending, now: datetime) -> datetime:
    """Returns when a pod's time to leave is over; a node's clock that is ahead does not put it off for as long."""
    if ending.time is None or ending.time > now + LEAVE_TIME:
        return now
    return ending.time + LEAVE_TIME
