"""`qtj events`: what happened to a job, its replicas and its inference, oldest first."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from qtj.monitor.replica import replica_names
from qtj.runs.summary import age_text
from qtj_operator.api.names import KIND, inference_name
from qtj_operator.controller.client import Object
from qtj_operator.controller.last_events import time_of

__all__ = ["EVENT_HEADINGS", "count_of", "event_cells", "events_about"]

EVENT_HEADINGS = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def event_cells(event: Object, now: datetime) -> Sequence[str]:
    """Returns the row of an event, below `EVENT_HEADINGS`."""
    about, at, count = event["involvedObject"], time_of(event), count_of(event)
    age = "-" if at == _BEGINNING else age_text(now - at)
    name = f"{str(about.get('kind') or '').lower()}/{about.get('name')}".removeprefix("/")
    message = " ".join(str(event.get("message") or "").split())
    return (
        f"{age} (x{count})" if count > 1 else age,
        str(event.get("type") or "-"),
        str(event.get("reason") or "-"),
        name,
        message,
    )


def events_about(job: Object, events: Sequence[Object]) -> Sequence[Object]:
    """Returns the events about a job and its children, oldest first.

    Args:
        job: The job. Events about an earlier job of its name are left out.
        events: Events of its namespace.
    """
    return sorted(_about(job, events), key=time_of)


def _about(job: Object, events: Sequence[Object]) -> Iterator[Object]:
    meta = job["metadata"]
    names, inference = replica_names(job), inference_name(meta["name"])
    created = datetime.fromisoformat(meta["creationTimestamp"])
    for event in events:
        about = event["involvedObject"]
        kind, name = about.get("kind"), about.get("name") or ""
        if kind == KIND:
            is_ours = about.get("uid") == meta["uid"]
        else:
            is_child = name in names or name == inference or (kind == "Pod" and name.startswith(f"{inference}-"))
            is_ours = is_child and time_of(event) >= created
        if is_ours:
            yield event


def count_of(event: Mapping[str, Any]) -> int:
    """Returns how often an event has happened."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)
