"""What a run looks like: a bar for each job on a terminal, plain lines elsewhere."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from qtj_operator.cli.remaining import Remaining
from qtj_operator.controller.client import Object, Resource
from qtj_operator.local.store import Change

__all__ = ["View", "ended", "view_on"]

_COLORS = {"Complete": "green", "Failed": "red", "Restarting": "yellow", "Suspended": "yellow"}
_RESTING = {"Complete", "Failed", "Suspended"}

_LEAST_FIRST = ("step", "examplesPerSecond", "ready", "accuracy", "left", "loss")
"""What a narrow terminal does without, in this order."""
_TENTHS = 10
_PHASE_WIDTH, _TIME_WIDTH, _GAPS = 10, 7, 4
_WIDE = 120
"""Columns of a terminal on which a wide bar leaves room for all numbers."""


class View(AbstractContextManager["View"]):
    """Plain lines: one for each event, and one whenever a job has ended an epoch or done a tenth of its steps."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = time.monotonic()
        self._lines: dict[str, str] = {}
        self._remaining = Remaining()

    def __enter__(self) -> Self:
        """Begins."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends."""

    def notice(self, change: Change) -> None:
        """Shows a change, if it is one for people."""
        if change.resource is Resource.EVENTS and change.type == "ADDED":
            event = change.object
            style = "yellow" if event["type"] == "Warning" else ""
            self.say(f"{event['involvedObject']['name']}  {event['reason']}: {event['message']}", style)
        elif change.resource is Resource.QUANTUM_TRAINING_JOBS and change.type != "DELETED":
            self._job(change.object)

    def say(self, sentence: str, style: str = "") -> None:
        """Shows a sentence."""
        seconds = time.monotonic() - self._begin
        self._console.print(Text(f"{seconds:7.1f} s  {sentence}", style=style), soft_wrap=True)

    def _job(self, job: Object) -> None:
        name, status = job["metadata"]["name"], job.get("status") or {}
        progress = status.get("progress") or {}
        tenth = _TENTHS * progress.get("step", 0) // progress["steps"] if progress.get("steps") else 0
        known = f"{status.get('phase')} {status.get('ready')} {status.get('attempt')} {progress.get('epoch')} {tenth}"
        facts = self._facts(name, status)
        if status and self._lines.get(name) != known:
            self._lines[name] = known
            self.say("  ".join([f"{name}  {status['phase']:<10}", *facts.values()]))

    def _facts(self, name: str, status: Mapping[str, Any]) -> Mapping[str, str]:
        left = self._remaining.of(name, status, time.monotonic())
        return {**_facts(status), **({"left": left} if left else {})}


class _LiveView(View):
    """A bar for each job, and events above them."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._tasks: dict[str, TaskID] = {}
        self._bar = 24 if console.width >= _WIDE else 12
        self._bars = Progress(
            TextColumn("{task.fields[name]}", style="bold"),
            TextColumn("{task.fields[phase]}"),
            BarColumn(bar_width=self._bar),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
        )

    def __enter__(self) -> Self:
        """Begins to draw."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leaves the bars as they are."""
        self._bars.stop()

    def _job(self, job: Object) -> None:
        name, status = job["metadata"]["name"], job.get("status") or {}
        progress = status.get("progress") or {}
        phase = status.get("phase", "Pending")
        steps = progress.get("steps")
        shown: Mapping[str, Any] = {
            "phase": f"[{_COLORS.get(phase, 'cyan')}]{phase:<10}[/]",
            "text": _fitting(self._facts(name, status), self._room(name)),
            "completed": progress.get("step" if steps else "epoch", 0),
            "total": steps or progress.get("epochs"),
        }
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task("", name=name, **shown)
        else:
            self._bars.update(self._tasks[name], **shown)
        if phase in _RESTING:
            self._bars.stop_task(self._tasks[name])

    def _room(self, name: str) -> int:
        """Returns how many characters are left for numbers."""
        longest = max(map(len, (name, *self._tasks)))
        return self._console.width - longest - _PHASE_WIDTH - self._bar - _TIME_WIDTH - _GAPS


def view_on(console: Console) -> View:
    """Returns the view that fits where it is shown."""
    return _LiveView(console) if console.is_terminal else View(console)


def ended(job: Object) -> str:
    """Returns one line on how a job ended."""
    name, status = job["metadata"]["name"], job.get("status") or {}
    phase = status.get("phase", "Pending")
    condition = next((c for c in status.get("conditions") or () if c["type"] == phase), None)
    return f"{name} is {phase}" + (f": {condition['message']}" if condition else "")


def _facts(status: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns what there is to say of a job, by its name in the status, in the order of a line."""
    ready = {"ready": f"ready {status.get('ready', '-')}"}
    progress = status.get("progress")
    if not progress:
        return ready
    forms = {"loss": "loss {:.4f}", "accuracy": "accuracy {:.3f}", "examplesPerSecond": "{:.0f} examples/s"}
    said = {name: form.format(progress[name]) for name, form in forms.items() if name in progress}
    epoch = {"epoch": f"epoch {progress['epoch']}" + (f"/{progress['epochs']}" if progress.get("epochs") else "")}
    step = {"step": f"step {progress.get('step', 0)}/{progress['steps']}"} if progress.get("steps") else {}
    return {**ready, **epoch, **step, **said}


def _fitting(facts: Mapping[str, str], width: int) -> str:
    """Returns as many facts as have room, the most important ones."""
    kept = dict(facts)
    for name in _LEAST_FIRST:
        if len("  ".join(kept.values())) > width:
            kept.pop(name, None)
    return "  ".join(kept.values())
