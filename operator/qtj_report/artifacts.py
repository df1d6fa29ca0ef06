"""What a job has stored of itself: its epochs, and beside its weights their record, the circuit and the predictions.

Whoever may read the artifacts adds it to a report by the same code: the trainer at the end of a job, and `qtj report`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from qtj_contract import Progress
from qtj_contract.origin import Origin
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_contract.progress_log import moments_of_attempts, read_progress
from qtj_contract.stored_source import FOLDER, origin_name, programs_from
from qtj_report.content import Attempt, Content, TrainingRecord

__all__ = ["NoAccessError", "Read", "attempts_in", "file_of", "with_artifacts", "with_programs"]

Read = Callable[[str], bytes | None]
"""Reads the object at an address; returns None if there is none. Raises OSError if it alone cannot be read, and
`NoAccessError` if nothing there can be."""

_WEIGHTS = ".h5"
"""The suffix of the trainer's weights. Those of other programs have no record."""


class NoAccessError(Exception):
    """The artifacts cannot be read from here; the message says why."""


def with_artifacts(found: Content, lines: str, weights: str, read: Read) -> Content:
    """Adds what a job has stored; what cannot be read is a note.

    Args:
        found: What else is known of the job.
        lines: Its epochs, as lines of a progress log; empty if there are none.
        weights: The address of its weights; empty if there are none.
        read: Reads what is beside the weights.
    """
    history, files = read_progress(lines), _Files(read)
    base = weights.removesuffix(_WEIGHTS) if weights.endswith(_WEIGHTS) else ""
    raw = files.record(f"{base}.json") if base else {}
    circuit = files.text(f"{base}.txt", "the drawing of the circuit") if base else None
    predictions = files.predictions(predictions_uri(weights)) if weights else None
    left_out = f"lines of the recorded epochs that cannot be read and are left out: {history.unreadable}"
    return replace(
        found,
        asked=found.asked or _asked(lines),
        epochs=history.epochs,
        predictions=predictions,
        record=TrainingRecord.of(raw, circuit=circuit or ""),
        replicas=found.replicas or _replicas(raw),
        notes=[*found.notes, *([left_out] if history.unreadable else ()), *files.notes],
    )


def with_programs(found: Content, artifacts: str, read: Read, owners: Collection[str | None]) -> Content:
    """Adds the newest own programs of a job, and where they come from; what cannot be read is left out.

    Args:
        found: What else is known of the job.
        artifacts: The address of its artifacts, which other jobs may use too.
        read: Reads what is there.
        owners: The values of `QTJ_JOB_UID` that are of the job.
    """
    try:
        for number in count(1):
            data = read(f"{artifacts}/{FOLDER}/{number}/source.json")
            if data is None:
                break
            origin = _origin(read(f"{artifacts}/{origin_name(number)}"))
            if not origin.job_uid or origin.job_uid in owners:
                found = replace(found, programs=programs_from(data), origin=origin)
    except (NoAccessError, OSError, ValueError):
        return found  # where nothing can be read, what is beside the weights has a note
    return found


def _origin(data: bytes | None) -> Origin:
    try:
        return Origin.from_bytes(data) if data else Origin()
    except ValueError:
        return Origin()


def attempts_in(lines: str, *, is_trained: bool) -> Iterator[Attempt]:
    """Yields the attempts, by their epochs: what ended one that restarted is known to the cluster alone.

    Args:
        lines: The epochs, as lines of a progress log.
        is_trained: Whether the last attempt has stored the weights.
    """
    moments = moments_of_attempts(lines)
    last_end = "the weights are stored" if is_trained else ""
    for number, (first, last) in moments.items():
        following = min((each for each in moments if each > number), default=None)
        end = f"it ended early, and attempt {following} followed" if following else last_end
        yield Attempt(number, first, (last - first).total_seconds(), end)


def file_of(uri: str) -> Path | None:
    """Returns the path of an object that is a file; None if it is in a bucket."""
    return Path(unquote(urlsplit(uri).path)) if uri.startswith("file://") else None


class _Files:
    """Reads files of text, and notes those that cannot be read."""

    def __init__(self, read: Read) -> None:
        self.notes: list[str] = []
        self._read = read
        self._is_open = True

    def record(self, uri: str) -> Mapping[str, Any]:
        text = self.text(uri, "the record of the weights")
        raw = _json(text) if text is not None else {}
        if isinstance(raw, dict):
            return raw
        self.notes.append(f"the record of the weights cannot be read: {_place(uri)} is not a record of the trainer")
        return {}

    def predictions(self, uri: str) -> Predictions | None:
        text = self.text(uri, "the predictions")
        try:
            return None if text is None else Predictions.parse(text)
        except ValueError:
            wrong = f"{_place(uri)} is not what docs/reference/contract.md describes"
            self.notes.append(f"the predictions cannot be read: {wrong}")
            return None

    def text(self, uri: str, what: str) -> str | None:
        if not self._is_open:
            return None
        try:
            data = self._read(uri)
        except NoAccessError as problem:
            self._is_open = False
            self.notes.append(f"options, circuit and predictions, if any are stored, are not shown: {problem}")
            return None
        except OSError as problem:
            self.notes.append(f"{what} cannot be read from {_place(uri)} ({problem.strerror})")
            return None
        return None if data is None else data.decode(errors="replace")


def _place(uri: str) -> str:
    return str(file_of(uri) or uri)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _asked(lines: str) -> int | None:
    last = Progress.parse(lines.rstrip("\n").rpartition("\n")[2])
    return last.epochs if last else None


def _replicas(raw: Mapping[str, Any]) -> Mapping[str, int]:
    cluster = raw.get("cluster")
    members: Mapping[str, Sequence[str]] = cluster if isinstance(cluster, dict) else {}
    return {role: len(each) for role, each in members.items() if isinstance(each, list)}
