"""Writes Kubernetes Events on a job or a study, each at most once."""

import hashlib
from datetime import datetime

from qtj_contract.timestamps import rfc3339
from qtj_operator.api.names import KIND, MANAGED_BY, NEWEST_API_VERSION
from qtj_operator.controller.client import ApiError, Client, Object, Resource
from qtj_operator.core.decision import Event

__all__ = ["emit"]


async def emit(client: Client, raw: Object, event: Event, now: datetime, kind: str = KIND) -> None:
    """Writes one event; failing to is not worth repeating a pass.

    The name is a digest of the message and the state of the job, so that a repeated pass repeats no event.

    Args:
        client: The cluster.
        raw: What it is about.
        event: What it says.
        now: The time.
        kind: That of the object: one from a list does not say it.
    """
    try:
        await client.create(Resource.EVENTS, _manifest(raw, event, now, kind))
    except ApiError:
        return


def _manifest(raw: Object, event: Event, now: datetime, kind: str) -> Object:
    meta, status = raw["metadata"], raw.get("status", {})
    content = (
        meta["uid"],
        str(status.get("attempt")),
        str(status.get("retry")),
        event.type,
        event.reason,
        event.message,
    )
    digest = hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]
    moment = rfc3339(now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name']}.{digest}", "namespace": meta["namespace"]},
        "involvedObject": {
            "apiVersion": NEWEST_API_VERSION,  # `kubectl events --for=qtj/NAME` asks for the newest that is served
            "kind": kind,
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
        },
        "type": event.type,
        "reason": str(event.reason),
        "message": event.message[:1024],
        "source": {"component": MANAGED_BY},
        "reportingComponent": MANAGED_BY,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
