"""Follows a run that another process has under way, by what it writes into its folder."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from qtj_operator.api.reading import read_status
from qtj_operator.controller.client import Resource
from qtj_operator.local.folder import EVENTS, Folder, FolderError
from qtj_operator.local.store import Change

__all__ = ["events_of", "follow"]

_PERIOD_SECONDS = 0.2


def follow(folder: Folder) -> Iterator[Change]:
    """Yields what changes in a run, from its begin until nobody is at work on it any more.

    Raises:
        FolderError: Its record cannot be read.
    """
    seen, number = 0.0, 0
    with (folder.path / EVENTS).open("a+b") as events:
        events.seek(0)
        while True:
            is_last = not folder.is_active
            if folder.changed != seen:
                seen, number, record = folder.changed, number + 1, _record(folder)
                if record:
                    yield Change("MODIFIED", Resource.QUANTUM_TRAINING_JOBS, number, record)
            for event in _new(events):
                number += 1
                yield Change("ADDED", Resource.EVENTS, number, event)
            if is_last:
                return
            time.sleep(_PERIOD_SECONDS)


def events_of(folder: Folder) -> list[dict[str, Any]]:
    """Returns the events of a run, oldest first."""
    with suppress(OSError), (folder.path / EVENTS).open("rb") as events:
        return list(_new(events))
    return []


def _record(folder: Folder) -> dict[str, Any] | None:
    """Returns the job; None of a run that has only begun.

    Raises:
        FolderError: It cannot be read.
    """
    try:
        record = folder.load()
    except FolderError:
        if not folder.is_active:
            raise
        return None
    return {**record, "status": read_status(record).to_dict()}  # a damaged one too has something to show


def _new(events: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yields the events that were written since; half a line waits for its end."""
    while (line := events.readline()).endswith(b"\n"):
        with suppress(ValueError):
            yield json.loads(line)
    events.seek(-len(line), 1)
