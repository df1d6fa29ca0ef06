"""What must hold at every change, and what must be the same at the end whatever went wrong."""

from collections import Counter
from typing import Any

from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INFERENCE
from qtj_operator.controller.client import Resource
from qtj_operator.local.store import Change, Store

MAX_EVENTS = 15
"""Kubernetes Events that one job may cause; more would be a storm."""

_RECORD = ("phase", "reason", "attempt", "restarts", "disruptions", "weights", "inference", "replicas", "ready")


class Invariants:
    """Watches every change and remembers what must never happen."""

    def __init__(self) -> None:
        self._attempt = 0
        self._live: dict[str, str] = {}
        self._runs: Counter[str] = Counter()
        self.events = 0
        self.broken: list[str] = []

    def check(self, change: Change) -> None:
        """Looks at one change."""
        handler = {
            Resource.QUANTUM_TRAINING_JOBS: self._job,
            Resource.PODS: self._pod,
            Resource.JOBS: self._inference,
            Resource.EVENTS: self._event,
        }.get(change.resource)
        if handler is not None:
            handler(change)

    def runs(self) -> int:
        """The most runs of inference for the same weights and spec."""
        return max(self._runs.values(), default=0)

    def _job(self, change: Change) -> None:
        status = change.object.get("status", {})
        attempt = status.get("attempt", 0)
        self._demand(self._attempt <= attempt, f"the attempt went back from {self._attempt} to {attempt}")
        self._attempt = attempt
        held = {c["type"] for c in status.get("conditions", ()) if c["status"] == "True"}
        self._demand(not {"Complete", "Failed"} <= held, "it is Complete and Failed at once")
        self._demand("finalizers" not in change.object["metadata"], "we put a finalizer on the user's object")

    def _pod(self, change: Change) -> None:
        meta = change.object["metadata"]
        attempt = meta["labels"].get(LABEL_ATTEMPT)
        if attempt is None:
            return
        if change.type == "DELETED":
            self._live.pop(meta["name"], None)
            return
        self._live[meta["name"]] = attempt
        if change.type == "ADDED":
            self._demand(set(self._live.values()) == {attempt}, f"attempts side by side: {self._live}")

    def _inference(self, change: Change) -> None:
        if change.type == "ADDED":
            self._runs[change.object["metadata"]["labels"][LABEL_INFERENCE]] += 1

    def _event(self, _change: Change) -> None:
        self.events += 1
        self._demand(self.events <= MAX_EVENTS, f"more than {MAX_EVENTS} events")

    def _demand(self, holds: bool, otherwise: str) -> None:  # noqa: FBT001
        if not holds:
            self.broken.append(otherwise)


def canonical(store: Store) -> dict[str, Any]:
    """Returns the final state without what may differ: uids, versions, times and the wording of messages."""
    jobs = store.select(Resource.QUANTUM_TRAINING_JOBS, None, {})
    return {
        "jobs": [_record(job.get("status", {})) for job in jobs],
        "children": sorted(
            f"{resource.name} {child['metadata']['name']} {child.get('status', {}).get('phase', '')}"
            for resource in (Resource.PODS, Resource.SERVICES, Resource.JOBS)
            for child in store.select(resource, None, {})
            if LABEL_INFERENCE not in child["metadata"]["labels"] or resource is Resource.JOBS
        ),
    }


def _record(status: dict[str, Any]) -> dict[str, Any]:
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status.get("conditions", ())}
    return {**{name: status.get(name) for name in _RECORD}, "conditions": conditions}
