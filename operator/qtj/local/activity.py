"""The activity that the program of a run reports, for processes that follow the run, or read about it later.

<folder>/.activity          what it does now
<folder>/activity.jsonl     each activity and when it began: one JSON object a line, with a time and an activity
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from qtj_contract.progress_log import append_line
from qtj_contract.whole_file import growing, read_regular, write_whole

__all__ = ["Activity", "activities_of", "activity_in_folder"]

_NAME = ".activity"
_LOG = "activity.jsonl"


class Activity:
    """Writes the activity of a program to a file whenever it changes.

    Args:
        folder: The folder of the run; the file of an earlier run is removed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._log = folder / _LOG
        self._last: str | None = None
        self.remove()

    def update(self, activity: str) -> None:
        """Records the current activity; "" while the program trains."""
        if activity != self._last:
            self._last = activity
            with suppress(OSError):  # a full disk must not end a training
                write_whole(self._path, activity.encode())
                line = json.dumps({"time": datetime.now(UTC).isoformat(), "activity": activity})
                with growing(self._log) as log:
                    append_line(log, line.encode() + b"\n")

    def remove(self) -> None:
        """Removes the file, once the program has ended."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def activity_in_folder(folder: Path) -> str | None:
    """Returns the last activity of a run's program; None if it has reported none."""
    try:
        return read_regular(folder / _NAME).decode(errors="replace")
    except OSError:
        return None


def activities_of(folder: Path) -> Sequence[tuple[datetime, str]]:
    """Returns the reported activities of a run's program with their times, oldest first; "" means that it trained."""
    try:
        lines = read_regular(folder / _LOG).decode(errors="replace").split("\n")
    except OSError:
        return ()
    return [each for line in lines for each in _activity(line)]


def _activity(line: str) -> Iterator[tuple[datetime, str]]:
    """Yields the activity in one line; nothing if the line is damaged."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        said = json.loads(line)
        at = datetime.fromisoformat(said["time"])
        if at.tzinfo and isinstance(said["activity"], str):
            yield at, said["activity"]
