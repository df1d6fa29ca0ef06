"""What a view is told, and the paper it writes on."""

from io import StringIO
from typing import Any

from rich.console import Console

from qtj.local.store import Change
from qtj.runs.line_view import view_for
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Key, Resource

QCNN: Key = ("default", "qcnn")


class Paper:
    """A view that writes on paper, by a clock that stands still until it is moved.

    Attributes:
        now: Seconds since the start.
    """

    def __init__(self, *, terminal: bool = False, width: int = 120, bell: bool = False, **environment: str) -> None:
        self._text = StringIO()
        self.now = 0.0
        self.console = Console(
            file=self._text, force_terminal=terminal, width=width, height=25, highlight=False,
            _environ={"TERM": "xterm", **environment},
        )  # fmt: skip
        self.view = view_for(self.console, bell=bell, clock=lambda: self.now)

    @property
    def text(self) -> str:
        return self._text.getvalue()

    @property
    def lines(self) -> list[str]:
        """The lines, without their clock."""
        return [line[11:] for line in self.text.splitlines()]


def job(phase: str | None = "Running", *, name: str = "qcnn", ready: str = "2/2", **status: Any) -> Change:
    said = {"phase": phase, "ready": ready, "attempt": 1, **status} if phase else {}
    return Change("MODIFIED", Resource.QUANTUM_TRAINING_JOBS, 1, manifest(name, said))


def epoch(number: int, *, name: str = "qcnn", phase: str = "Running", **numbers: Any) -> Change:
    progress = {"epoch": number, "epochs": 25, "step": 7 * number, "loss": 0.25, "examplesPerSecond": 431.7, **numbers}
    return job(phase, name=name, progress=progress)


def stepping(step: int, *, attempt: int = 1, phase: str = "Running") -> Change:
    return job(phase, attempt=attempt, progress={"epoch": 0, "epochs": 1, "step": step, "steps": 60})


def ending(phase: str, message: str, *, name: str = "qcnn", **status: Any) -> Change:
    return job(phase, name=name, conditions=[{"type": phase, "status": "True", "message": message}], **status)


def event(message: str, reason: str = "Restarting", *, name: str = "qcnn") -> Change:
    said = {"involvedObject": {"name": name}, "type": "Warning", "reason": reason, "message": message}
    return Change("ADDED", Resource.EVENTS, 2, said)


def pod(phase: str | None, *, name: str = "qcnn", uid: str = "uid-1") -> Change:
    """A change of a pod; without a phase, its end."""
    meta = {"name": f"{name}-worker-0", "namespace": "default", "uid": uid, "labels": {LABEL_JOB: name}}
    seen = {"metadata": meta, "status": {"phase": phase or "Running"}}
    return Change("MODIFIED" if phase else "DELETED", Resource.PODS, 3, seen)


def manifest(name: str, status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": {"inference": {}, **spec}, "status": status}
