"""Jobs as lines or documents, one for each change: what is printed where there is no terminal."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qtj.local.hidden import shown
from qtj.local.store import Change
from qtj.monitor.snapshot import Snapshot
from qtj.runs.line_view import LineView, key_of
from qtj.terminal.output_format import OutputFormat, formatted, kubectl_name
from qtj.terminal.streams import print_stderr
from qtj_operator.controller.client import Object, Resource

__all__ = ["Changes", "Documents", "Lines", "write_document"]


class Changes:
    """Finds what has changed between two looks."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._pods: dict[str, Object] = {}

    def between(self, board: Sequence[Snapshot]) -> Iterator[Change]:
        """Yields the changes since the last look: events and pods first, then the job that follows from them."""
        for seen in board:
            yield from self._new(Resource.EVENTS, seen.events)
            yield from self._new(Resource.PODS, seen.pods)
        yield from self._gone([pod for seen in board for pod in seen.pods])
        for seen in board:
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

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for change in self._changes.between(board):
            self._view.show_change(change)
        for seen in board:
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

    def show(self, board: Sequence[Snapshot]) -> None:
        """Takes the jobs as they are now."""
        for seen in board:
            if self._last.get(seen.name) != seen.job:
                self._last[seen.name] = seen.job
                write_document(shown(seen.job), self._form)

    def complain(self, sentence: str) -> None:
        """Takes why the jobs could not be looked at."""
        print_stderr(f"qtj: {sentence}")
