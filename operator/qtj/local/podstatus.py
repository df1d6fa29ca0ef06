"""What a kubelet writes into the status of a pod, as far as the operator reads it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from qtj.local.addresses import HOST
from qtj_contract.timestamps import rfc3339
from qtj_operator.api.job import main_container
from qtj_operator.controller.client import Object

__all__ = ["conditions", "ended", "running"]


def running(pod: Object, *, ready: bool | None = None) -> Mapping[str, Any]:
    """Returns the status of a pod whose program has started.

    Args:
        pod: The pod.
        ready: What its probes have found; if it is left out, none has been tried yet.
    """
    container = main_container(pod["spec"]["containers"])
    if ready is None:
        ready = not any(container.get(probe) for probe in ("readinessProbe", "startupProbe"))
    now = rfc3339(datetime.now(UTC))
    return {
        "phase": "Running",
        "podIP": HOST,
        "hostIP": HOST,
        "startTime": now,
        "conditions": conditions(ready=ready),
        "containerStatuses": [_container(container, {"running": {"startedAt": now}}, ready=ready)],
    }


def ended(pod: Object, code: int, message: str, reason: str = "Error") -> Mapping[str, Any]:
    """Returns the status of a pod whose program has ended, or could not start.

    Args:
        pod: The pod.
        code: Its exit code.
        message: Its termination message.
        reason: The kubelet's reason, unless it succeeded.
    """
    container = main_container(pod["spec"]["containers"])
    reason = reason if code else "Completed"
    terminated = {"exitCode": code, "reason": reason, "message": message, "finishedAt": rfc3339(datetime.now(UTC))}
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": conditions(ready=False),
        "containerStatuses": [_container(container, {"terminated": terminated}, ready=False)],
    }


def conditions(*, ready: bool) -> list[dict[str, str]]:
    """Returns the conditions of a pod that has a node."""
    value = "True" if ready else "False"
    return [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Initialized", "status": "True"},
        {"type": "ContainersReady", "status": value},
        {"type": "Ready", "status": value},
    ]


def _container(container: Object, state: Mapping[str, Any], *, ready: bool) -> Mapping[str, Any]:
    return {"name": container["name"], "image": container["image"], "state": state, "ready": ready, "restartCount": 0}
