"""What a kubelet writes into the status of a pod, as far as the operator reads it, with its termination message."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qtj.local.addresses import HOST
from qtj_contract import TERMINATION_MESSAGE_LIMIT, TerminationMessage
from qtj_contract.timestamps import rfc3339
from qtj_contract.whole_file import regular
from qtj_operator.api.job import main_container
from qtj_operator.controller.client import Object

__all__ = ["conditions", "ended", "running", "termination_message"]


_LOG_BYTES = 2048
"""How much of the log a kubelet uses if there is no message."""


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


def termination_message(pod: Object, code: int, file: Path, tail: str, unhealthy: str | None) -> str:
    """Returns the program's message, or else, if the pod asks for that, the end of its log.

    Args:
        pod: The pod.
        code: The program's exit code.
        file: Where it should write its message.
        tail: The end of its log.
        unhealthy: The failed probe because of which it was ended. A kubelet reports that only in its events, which do
            not exist here, so the job would only report a signal.
    """
    message = _read(file)
    if unhealthy and code:
        return replace(TerminationMessage.parse(message) or TerminationMessage(), error=unhealthy).to_json()
    policy = main_container(pod["spec"]["containers"]).get("terminationMessagePolicy")
    return tail[-_LOG_BYTES:] if not message and code and policy == "FallbackToLogsOnError" else message


def _read(file: Path) -> str:
    """Returns the start of a regular file: a program may have put something there that never ends, such as a FIFO."""
    with suppress(OSError), regular(file) as opened:
        return opened.read(TERMINATION_MESSAGE_LIMIT).decode(errors="replace")
    return ""
