"""The record of a training's epochs: one JSON object per line, appended by the program or by `qtj run`.

{"attempt": 1, "time": "2026-11-23T10:00:00Z", "epoch": 3, "epochs": 25, "step": 21, "loss": 0.25, "accuracy": 0.9}

A line has the fields of the progress endpoint, and the attempt and the time. A loss of null means that it was not
finite: the endpoint leaves it out. Programs and `qtj run` write such lines, and `qtj report` reads them.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

from qtj_contract.progress import Progress
from qtj_contract.timestamps import rfc3339
from qtj_contract.values import UNREADABLE

__all__ = [
    "EpochRecord",
    "ProgressHistory",
    "append_line",
    "append_progress",
    "last_progress",
    "moments_of_attempts",
    "progress_line",
    "read_progress",
]

_FIRST_ATTEMPT = 1
_NUMBERS = ("loss", "accuracy", "validation_loss", "training_accuracy", "examples_per_second", "devices")


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What is known about one epoch.

    Attributes:
        number: Epochs finished, this one included.
        attempt: The attempt in which it finished.
        loss: Training loss; NaN when it was not finite, None if it was not reported.
        accuracy: Accuracy on the held-out set, None if it was not reported.
        validation_loss: Loss on the held-out set, None if it was not reported.
        training_accuracy: Accuracy on the training set, None if it was not reported.
        examples_per_second: Training examples of all replicas per second, None if it was not reported.
        devices: Devices of all replicas that trained, None if it was not reported.
        scores: Other numbers by name; `val_` begins those on the held-out set.
    """

    number: int
    attempt: int
    loss: float | None = None
    accuracy: float | None = None
    validation_loss: float | None = None
    training_accuracy: float | None = None
    examples_per_second: float | None = None
    devices: int | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProgressHistory:
    """All epochs that are known, in order.

    Attributes:
        epochs: One record for each; the last one of an epoch that was repeated.
        unreadable: Lines that could not be read, without the last one, which may still be written.
    """

    epochs: Sequence[EpochRecord] = ()
    unreadable: int = 0


def progress_line(progress: Progress, attempt: int, at: datetime) -> str:
    """Returns the line that records a progress, with its line break."""
    lost = {"loss": None} if progress.loss is not None and not math.isfinite(progress.loss) else {}
    numbers = replace(progress, captures=()).to_dict()
    return json.dumps({"attempt": attempt, "time": rfc3339(at), **numbers, **lost}) + "\n"


def append_progress(record: BinaryIO, progress: Progress, attempt: int, at: datetime) -> None:
    """Appends a progress to a record that is open for reading and appending.

    Raises:
        OSError: It cannot be written, for example because the disk is full.
    """
    append_line(record, progress_line(progress, attempt, at).encode())


def append_line(record: BinaryIO, line: bytes) -> None:
    """Appends a line, with its line break, to a record that is open for reading and appending.

    Raises:
        OSError: It cannot be written, for example because the disk is full.
    """
    # A full disk or a kill may have left half a line: without a line break, this one would be lost too.
    record.seek(max(0, record.tell() - 1))
    gap = b"" if record.read(1) in {b"", b"\n"} else b"\n"
    record.write(gap + line)


def read_progress(text: str) -> ProgressHistory:
    """Reads the lines of a record."""
    *whole, last = text.split("\n")
    records = [_record(line) for line in whole if line.strip()]
    readable = [each for each in (*records, _record(last)) if each]
    return ProgressHistory(_latest(readable), unreadable=records.count(None))


def last_progress(text: str, attempt: int) -> Progress | None:
    """Returns the last progress of an attempt in a record; None if there is none."""
    lines = ((_record(line), line) for line in text.split("\n"))
    reports = [Progress.parse(line) for record, line in lines if record and record.attempt == attempt]
    return max(filter(None, reports), key=lambda each: (each.epoch, each.step or 0), default=None)


def moments_of_attempts(text: str) -> Mapping[int, tuple[datetime, datetime]]:
    """Returns the times of the first and of the last line of each attempt in a record, by its number, in order."""
    moments: dict[int, tuple[datetime, datetime]] = {}
    for attempt, at in filter(None, map(_moment, text.split("\n"))):
        first, last = moments.get(attempt, (at, at))
        moments[attempt] = (min(first, at), max(last, at))
    return dict(sorted(moments.items()))


def _moment(line: str) -> tuple[int, datetime] | None:
    """Returns attempt and time of a line; None if it has none."""
    try:
        written = json.loads(line)
        at = datetime.fromisoformat(written["time"])
        return (int(written["attempt"]), at) if at.tzinfo else None
    except UNREADABLE:
        return None


def _record(line: str) -> EpochRecord | None:
    """Reads one line; returns None if it is not a record."""
    progress = Progress.parse(line)
    if progress is None:
        return None
    written: Mapping[str, Any] = json.loads(line)
    attempt = written.get("attempt")
    was_lost = "loss" in written and progress.loss is None
    return EpochRecord(
        number=progress.epoch,
        attempt=attempt if isinstance(attempt, int) else _FIRST_ATTEMPT,
        loss=math.nan if was_lost else progress.loss,
        accuracy=progress.accuracy,
        validation_loss=progress.validation_loss,
        training_accuracy=progress.training_accuracy,
        examples_per_second=progress.examples_per_second,
        devices=progress.devices,
        scores=progress.scores,
    )


def _latest(records: Iterable[EpochRecord]) -> Sequence[EpochRecord]:
    """Puts the epochs in order; from its first epoch on, an attempt replaces those before it."""
    attempts: dict[int, dict[int, EpochRecord]] = {}
    for each in records:
        if each.number:
            epochs = attempts.setdefault(each.attempt, {})
            epochs[each.number] = _merged(epochs.get(each.number), each)
    kept: dict[int, EpochRecord] = {}
    for attempt in sorted(attempts):
        first = min(attempts[attempt])
        restored = {first: _restored(kept.get(first), attempts[attempt][first])}
        kept = {number: each for number, each in kept.items() if number < first} | attempts[attempt] | restored
    return [kept[number] for number in sorted(kept)]


def _restored(before: EpochRecord | None, after: EpochRecord) -> EpochRecord:
    """Returns the first epoch of an attempt. What a checkpoint has restored belongs to the attempt before.

    Progress has five digits of a loss. Of an epoch that its process has not trained, it may have none.
    """
    if before is None or before.loss is None:
        return _merged(before, after)
    is_told_again = after.loss is None or math.isclose(after.loss, before.loss, rel_tol=1e-4)
    return before if is_told_again else _merged(before, after)


def _merged(before: EpochRecord | None, after: EpochRecord) -> EpochRecord:
    """Returns `after`, with the fields that only `before` knows: an epoch may have two writers."""
    if before is None:
        return after
    unknown = [each for each in _NUMBERS if getattr(after, each) is None]
    numbers = {each: getattr(before, each) for each in unknown}
    return replace(after, **numbers, scores={**before.scores, **after.scores})
