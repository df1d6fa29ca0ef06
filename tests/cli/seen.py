"""Jobs as `qtj status` and `qtj top` see them: `seen("Running", replicas=[replica("worker-0", "Failed")])`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from qtj.monitor.snapshot import Replica, Snapshot

NOW = datetime(2030, 1, 1, 12, 0, 24, tzinfo=UTC)


def seen(
    phase: str = "Running",
    *,
    name: str = "qcnn",
    why: str = "",
    left: str = "",
    is_over: bool = False,
    progress: dict[str, Any] | None = None,
    losses: Sequence[float | None] = (),
    replicas: Sequence[Replica] = (),
    pods: Sequence[dict[str, Any]] = (),
    events: Sequence[dict[str, Any]] = (),
    activity: str | None = None,
    **status: Any,
) -> Snapshot:
    """A job that began 24 s ago."""
    begin = {"startTime": "2030-01-01T12:00:00Z", "phase": phase, "ready": "2/2", "attempt": 1}
    job = {"metadata": {"name": name, "namespace": "lab", "uid": f"uid-of-{name}"}, "spec": {}}
    return Snapshot(
        name=name,
        job={**job, "status": {**begin, **({"progress": progress} if progress else {}), **status}},
        now=NOW,
        phase=phase,
        why=why,
        is_over=is_over,
        progress=progress or {},
        losses=losses,
        left=left,
        activity=activity,
        replicas=replicas,
        pods=pods,
        events=events,
        places={"namespace": "lab"},
    )


def replica(name: str, state: str = "Running", **more: Any) -> Replica:
    return Replica(name=name, state=state, **more)
