"""Follows a run of another process, by what that process writes into the folder of the run."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from qtj.local.activity import activity_in_folder
from qtj.local.folder import EVENTS, Folder, FolderError
from qtj.local.records import is_over
from qtj.local.store import Change
from qtj_contract.whole_file import regular
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase
from qtj_operator.controller.client import Resource

__all__ = ["events_of", "follow"]

_FIELDS = ("type", "reason", "message")
_PERIOD_SECONDS = 0.2


def follow(
    folder: Folder,
    on_activity: Callable[[str], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[Change]:
    """Yields the changes of a run, from its start until its job has ended or no process runs it any more.

    Args:
        folder: Its folder.
        on_activity: Called repeatedly with the activity of its program; "" while it trains.
        wait: Waits some seconds between two looks.

    Raises:
        FolderError: Its record cannot be read.
    """
    seen, number, position = None, 0, 0
    while True:
        is_last = not folder.is_active
        # Before the record: an event is written after the status that it is about, so the record is never behind it.
        events, position = _events_since(folder, position)
        if (version := folder.version) != seen:
            record = _record(folder)
            if record and record["status"].get("phase") == Phase.SUSPENDED and folder.is_to_stop and not is_last:
                record = None  # its programs have not ended yet
            else:
                seen, number = version, number + 1
            if record:
                is_last |= is_over(record)  # another job of its qtj run may run for long
                yield Change("MODIFIED", Resource.QUANTUM_TRAINING_JOBS, number, record)
        if is_last:
            events += _events_since(folder, position)[0]
        for event in events:
            number += 1
            yield Change("ADDED", Resource.EVENTS, number, event)
        if (activity := activity_in_folder(folder.path)) is not None:
            on_activity(activity)
        if is_last:
            return
        wait(_PERIOD_SECONDS)


def events_of(folder: Folder) -> list[dict[str, Any]]:
    """Returns the events of a run, oldest first."""
    return _events_since(folder, 0)[0]


def _record(folder: Folder) -> dict[str, Any] | None:
    """Returns the job; None if the run has only started.

    Raises:
        FolderError: It cannot be read.
    """
    try:
        record = folder.load()
    except FolderError:
        if not folder.is_active:
            raise
        return None
    return {**record, "status": read_status(record).to_dict()}  # what can be read of a damaged record


def _events_since(folder: Folder, position: int) -> tuple[list[dict[str, Any]], int]:
    """Returns the events that were written from a position on, and their end; an incomplete line is read later."""
    try:
        with regular(folder.path / EVENTS) as file:
            file.seek(position)
            written = file.read()
    except OSError:  # there is none yet
        return [], position
    whole = written[: written.rfind(b"\n") + 1]
    return [event for line in whole.split(b"\n") if (event := _event(line))], position + len(whole)


def _event(line: bytes) -> dict[str, Any] | None:
    """Reads one line; None if it is not an event, for example because the disk was full."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    about = event.get("involvedObject") if isinstance(event, dict) else None
    if not isinstance(about, dict):
        return None
    is_whole = all(isinstance(each, str) for each in (about.get("name"), *map(event.get, _FIELDS)))
    return event if is_whole else None
