"""What the program of a run says it is doing, for those who follow the run from another process."""

from contextlib import suppress
from pathlib import Path

__all__ = ["Activity", "activity_in_folder"]

_NAME = ".activity"


class Activity:
    """Writes down what a program says, each time it says something else.

    Args:
        folder: The folder of the run; what an earlier one has left there is removed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._last: str | None = None
        self.remove()

    def tell(self, said: str) -> None:
        """Takes what a program says; "" while it trains."""
        if said != self._last:
            self._last = said
            with suppress(OSError):  # a disk without room must not end a training
                self._path.write_text(said, "utf-8")

    def remove(self) -> None:
        """Leaves nothing behind: the program says nothing any more."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def activity_in_folder(folder: Path) -> str | None:
    """Returns what the program of a run has said last; None where it has said nothing."""
    try:
        return (folder / _NAME).read_text("utf-8", errors="replace")
    except OSError:
        return None
