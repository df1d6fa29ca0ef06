"""Reads what the events say about the pod of a job that takes long to start, at most twice a minute."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from qtj_contract import printable
from qtj_operator.controller.client import ApiError, Client, Object
from qtj_operator.core.observed import Observed, Told
from qtj_operator.core.slow_start import slow_pod, starting_pods

__all__ = ["LastEvents", "message_of", "time_of", "with_told"]

_PAUSE = timedelta(seconds=30)
_LONGEST = 500
_BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class LastEvents:
    """What was read last.

    Attributes:
        uid: Of which pod.
        due: When its events are read again.
        told: What the last one says, if there is one.
    """

    uid: str = ""
    due: datetime = _BEGINNING
    told: Told | None = None


async def with_told(client: Client, seen: Observed, last: LastEvents, now: datetime) -> Observed:
    """Returns what was seen, with the last event about the pod that takes long to start; most passes ask nothing.

    An operator that may not read events, or gets no answer, does without.
    """
    pod = slow_pod(starting_pods(seen), now)
    if pod is None:
        return seen
    if pod.uid != last.uid or last.due <= now:
        last.uid, last.due, last.told = pod.uid, now + _PAUSE, None
        with suppress(ApiError):
            last.told = _last(await client.events_about(seen.job.namespace, pod.uid))
    return replace(seen, told=last.told)


def _last(events: Sequence[Object]) -> Told | None:
    event = max(events, key=time_of, default=None)
    if event is None:
        return None
    return Told(event.get("type") == "Warning", str(event.get("reason") or "no reason"), message_of(event).rstrip("."))


def message_of(event: Object) -> str:
    """Returns what an event says, in one line."""
    return printable(" ".join(str(event.get("message") or "").split()))[:_LONGEST]


def time_of(event: Mapping[str, Any]) -> datetime:
    """Returns when an event was last seen; events of events.k8s.io have other fields than older ones.

    See `printEvent` of kubectl (Kubernetes 1.34, pkg/printers/internalversion/printers.go).
    """
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    for time in (*times, event.get("firstTimestamp"), (event.get("metadata") or {}).get("creationTimestamp")):
        with suppress(ValueError):
            return datetime.fromisoformat(str(time))
    return _BEGINNING
