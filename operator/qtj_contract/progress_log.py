"""The record of a training's epochs: one JSON object a line, as a program or whoever watches it has appended it.

{"attempt": 1, "time": "2026-11-23T10:00:00Z", "epoch": 3, "epochs": 25, "step": 21, "loss": 0.25, "accuracy": 0.9}

A line says what the progress endpoint says, besides the attempt and the time. A loss of null is one that was not
finite: the endpoint leaves it out. Programs and `qtj run` write such lines, and `qtj report` reads them.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

from qtj_contract.progress import Progress
from qtj_contract.timestamps import rfc3339

__all__ = [
    "EpochRecord",
    "ProgressHistory",
    "append_line",
    "append_progress",
    "last_progress",
    "progress_line",
    "read_progress",
]

_FIRST_ATTEMPT = 1
_NUMBERS = ("loss", "accuracy", "validation_loss", "training_accuracy", "examples_per_second", "devices")


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What is known of one epoch.

    Attributes:
        number: Epochs finished, this one included.
        attempt: The attempt of the job that finished it.
        loss: Training loss; NaN when it was not finite, None when nobody told it.
        accuracy: Accuracy on the held-out set, None when nobody told it.
        validation_loss: Loss on the held-out set, None when nobody told it.
        training_accuracy: Accuracy on the training set, None when nobody told it.
        examples_per_second: Training examples of all replicas per second, None when nobody told it.
        devices: Devices of all replicas that trained, None when nobody told it.
    """

    number: int
    attempt: int
    loss: float | None = None
    accuracy: float | None = None
    validation_loss: float | None = None
    training_accuracy: float | None = None
    examples_per_second: float | None = None
    devices: int | None = None


@dataclass(frozen=True, slots=True)
class ProgressHistory:
    """All epochs that are known, in order.

    Attributes:
        epochs: One record for each; of an epoch that was repeated, the last.
        unreadable: Lines that nothing could be made of; one that is being written, at the end, is not among them.
    """

    epochs: Sequence[EpochRecord] = ()
    unreadable: int = 0


def progress_line(said: Progress, attempt: int, at: datetime) -> str:
    """Returns the line that records a progress, its end included."""
    lost = {"loss": None} if said.loss is not None and not math.isfinite(said.loss) else {}
    return json.dumps({"attempt": attempt, "time": rfc3339(at), **said.to_dict(), **lost}) + "\n"


def append_progress(record: BinaryIO, said: Progress, attempt: int, at: datetime) -> None:
    """Appends a progress to a record that is open for reading and appending.

    Raises:
        OSError: There is no room for it.
    """
    append_line(record, progress_line(said, attempt, at).encode())


def append_line(record: BinaryIO, line: bytes) -> None:
    """Appends a line, its end included, to a record that is open for reading and appending.

    Raises:
        OSError: There is no room for it.
    """
    # A full disk or a kill may have left half a line, which must not swallow this one too.
    record.seek(max(0, record.tell() - 1))
    gap = b"" if record.read(1) in {b"", b"\n"} else b"\n"
    record.write(gap + line)


def read_progress(text: str) -> ProgressHistory:
    """Reads the lines of a record."""
    *whole, last = text.split("\n")
    found = [_record(line) for line in whole if line.strip()]
    known = [each for each in (*found, _record(last)) if each]
    return ProgressHistory(_latest(known), unreadable=found.count(None))


def last_progress(text: str, attempt: int) -> Progress | None:
    """Returns how far an attempt came by the lines of a record; None where it has none."""
    lines = ((_record(line), line) for line in text.split("\n"))
    said = [Progress.parse(line) for record, line in lines if record and record.attempt == attempt]
    return max(filter(None, said), key=lambda each: (each.epoch, each.step or 0), default=None)


def _record(line: str) -> EpochRecord | None:
    """Reads one line; None for something else."""
    said = Progress.parse(line)
    if said is None:
        return None
    written: Mapping[str, Any] = json.loads(line)
    attempt = written.get("attempt")
    was_lost = "loss" in written and said.loss is None
    return EpochRecord(
        number=said.epoch,
        attempt=attempt if isinstance(attempt, int) else _FIRST_ATTEMPT,
        loss=math.nan if was_lost else said.loss,
        accuracy=said.accuracy,
        validation_loss=said.validation_loss,
        training_accuracy=said.training_accuracy,
        examples_per_second=said.examples_per_second,
        devices=said.devices,
    )


def _latest(records: Iterable[EpochRecord]) -> Sequence[EpochRecord]:
    """Puts the epochs in order; an attempt takes the place of those before it from its first epoch on."""
    attempts: dict[int, dict[int, EpochRecord]] = {}
    for each in records:
        if each.number:
            epochs = attempts.setdefault(each.attempt, {})
            epochs[each.number] = _merged(epochs.get(each.number), each)
    kept: dict[int, EpochRecord] = {}
    for attempt in sorted(attempts):
        first = min(attempts[attempt])
        # It may be the epoch that a checkpoint has restored: its loss is known from before.
        restored = {first: _merged(kept.get(first), attempts[attempt][first])}
        kept = {number: each for number, each in kept.items() if number < first} | attempts[attempt] | restored
    return [kept[number] for number in sorted(kept)]


def _merged(before: EpochRecord | None, after: EpochRecord) -> EpochRecord:
    """Adds what one writer knows of an epoch to what another has told of it."""
    if before is None:
        return after
    unknown = [each for each in _NUMBERS if getattr(after, each) is None]
    return replace(after, **{each: getattr(before, each) for each in unknown})
