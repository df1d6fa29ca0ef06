"""Looks at jobs again and again, and shows what is seen: drawn, or a line or a document for each change."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.console import Console

from qtj.local.hidden import shown
from qtj.local.store import Change
from qtj.monitor.live import Drawing, Screen
from qtj.monitor.snapshot import Snapshot, Source
from qtj.runs.line_view import LineView, key_of
from qtj.terminal.console import safe_console
from qtj.terminal.output_format import OutputFormat, formatted, kubectl_name
from qtj.terminal.streams import print_stderr
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = [
    "PERIOD_SECONDS",
    "Changes",
    "Documents",
    "Lines",
    "Reader",
    "View",
    "can_draw",
    "until_answered",
    "watch",
    "watch_on_stdout",
    "write_document",
]

T = TypeVar("T")

PERIOD_SECONDS = 2.0
_REFUSALS = range(400, 429)
"""Codes with which no later answer is another one: 429 and what follows, and 0 for no answer, are of the moment."""


class View(Protocol):
    """What shows jobs."""

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        ...

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        ...


class Reader:
    """Whoever reads stdout: a terminal may be closed, and the reader of a pipe may leave.

    Attributes:
        is_gone: Whether nobody reads any more.
    """

    def __init__(self) -> None:
        self.is_gone = False
        self.console: Console = safe_console(sys.stdout, self._lost)

    def _lost(self, _: OSError) -> None:
        self.is_gone = True


def can_draw(console: Console) -> bool:
    """Tells whether lines of the output can be written again."""
    return console.is_terminal and not console.is_dumb_terminal


async def watch(
    source: Source, view: View, ends: Callable[[Sequence[Snapshot]], bool], period: float = PERIOD_SECONDS
) -> Sequence[Snapshot]:
    """Shows jobs until something holds of them; returns how they were last.

    Args:
        source: Where they are.
        view: What shows them.
        ends: Tells whether that was the last look.
        period: Seconds between two looks.

    Raises:
        InputError: A job is not there, or not any more.
        ApiError: The cluster does not answer the first question. Later, this is shown, and it is asked again.
    """
    snapshots = await source.look()
    view.show(snapshots)
    while not ends(snapshots):
        await asyncio.sleep(period)
        snapshots = await until_answered(source.look, view.complain)
        view.show(snapshots)
    return snapshots


async def until_answered(ask: Callable[[], Awaitable[T]], complain: Callable[[str], None]) -> T:
    """Returns an answer of the cluster; asks again while there is none, and reports each reason once.

    Args:
        ask: Asks.
        complain: Takes why there is no answer.

    Raises:
        ApiError: The API server refuses.
    """
    known = ""
    while True:
        try:
            return await ask()
        except ApiError as problem:
            if problem.code in _REFUSALS:
                raise
            if (reason := str(problem)) != known:
                known = reason
                complain(f"{reason}; it is asked again every {PERIOD_SECONDS:.0f} s")
        await asyncio.sleep(PERIOD_SECONDS)


async def watch_on_stdout(source: Source, draw: Drawing) -> Sequence[Snapshot]:
    """Shows jobs until they are over or nobody reads any more: drawn on a terminal, else as lines.

    Raises:
        InputError: As in `watch`.
        ApiError: As in `watch`.
    """
    reader = Reader()

    def ends(snapshots: Sequence[Snapshot]) -> bool:
        return reader.is_gone or all(seen.is_over for seen in snapshots)

    if can_draw(reader.console):
        with Screen(reader.console, draw) as screen:
            return await watch(source, screen, ends)
    with LineView(reader.console) as view:
        return await watch(source, Lines(view), ends)


class Changes:
    """Finds what has changed between two looks."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._pods: dict[str, Object] = {}

    def between(self, snapshots: Sequence[Snapshot]) -> Iterator[Change]:
        """Yields the changes since the last look: events and pods first, then the job that follows from them."""
        for seen in snapshots:
            yield from self._new(Resource.EVENTS, seen.events)
            yield from self._new(Resource.PODS, seen.pods)
        yield from self._gone([pod for seen in snapshots for pod in seen.pods])
        for seen in snapshots:
            yield from self._new(Resource.QUANTUM_TRAINING_JOBS, [_with_progress(seen)])

    def _new(self, resource: Resource, objects: Sequence[Object]) -> Iterator[Change]:
        for obj in objects:
            name, written = f"{resource}{_identity(obj)}", json.dumps(obj, sort_keys=True)
            before = self._known.get(name)
            if before != written:
                self._known[name] = written
                yield Change("MODIFIED" if before else "ADDED", resource, 0, obj)

    def _gone(self, pods: Sequence[Object]) -> Iterator[Change]:
        before, self._pods = self._pods, {_identity(pod): pod for pod in pods}
        for name in before.keys() - self._pods.keys():
            yield Change("DELETED", Resource.PODS, 0, before[name])


class Lines:
    """Prints a line for each event, each stage and each epoch.

    Args:
        view: Where.
    """

    def __init__(self, view: LineView) -> None:
        self._view = view
        self._changes = Changes()

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for change in self._changes.between(snapshots):
            self._view.show_change(change)
        for seen in snapshots:
            if seen.activity is not None:
                self._view.set_activity(key_of(seen.job), seen.activity)
            if seen.is_over:
                self._view.show_end(seen.job)

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        self._view.print(sentence, "yellow")


def _identity(obj: Object) -> str:
    meta: Mapping[str, str] = obj.get("metadata") or {}
    return meta.get("uid") or f"{meta.get('namespace')}/{meta.get('name')}"


def _with_progress(seen: Snapshot) -> Object:
    return {**seen.job, "status": {**seen.status, "progress": seen.progress}} if seen.progress else seen.job


def write_document(
    obj: Mapping[str, Any], form: OutputFormat, name: Callable[[Mapping[str, Any]], str] = kubectl_name
) -> None:
    """Writes a document to stdout.

    Raises:
        BrokenPipeError: Nobody reads any more.
    """
    begin = "---\n" if form == OutputFormat.YAML else ""
    sys.stdout.write(f"{begin}{formatted([obj], form, name=name)}\n")
    sys.stdout.flush()


class Documents:
    """Writes a job whenever it changes; see `View`.

    Args:
        form: The form.
    """

    def __init__(self, form: OutputFormat) -> None:
        self._form = form
        self._last: dict[str, Mapping[str, Any]] = {}

    def show(self, snapshots: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for seen in snapshots:
            if self._last.get(seen.name) != seen.job:
                self._last[seen.name] = seen.job
                write_document(shown(seen.job), self._form)

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        print_stderr(f"qtj: {sentence}")
