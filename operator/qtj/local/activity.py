"""The activity that the program of a run reports, for other processes that follow the run."""

from contextlib import suppress
from pathlib import Path

__all__ = ["Activity", "activity_in_folder"]

_NAME = ".activity"


class Activity:
    """Writes the activity of a program to a file whenever it changes.

    Args:
        folder: The folder of the run; the file of an earlier run is removed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._last: str | None = None
        self.remove()

    def update(self, activity: str) -> None:
        """Records the current activity; "" while the program trains."""
        if activity != self._last:
            self._last = activity
            with suppress(OSError):  # a full disk must not end a training
                self._path.write_text(activity, "utf-8")

    def remove(self) -> None:
        """Removes the file, once the program has ended."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def activity_in_folder(folder: Path) -> str | None:
    """Returns the last activity of a run's program; None if it has reported none."""
    try:
        return (folder / _NAME).read_text("utf-8", errors="replace")
    except OSError:
        return None
