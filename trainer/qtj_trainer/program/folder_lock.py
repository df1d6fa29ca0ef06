"""The locks of folders in which programs without a job train: each process keeps others out of its own.

Workers that were started by hand share a folder, and keep others out. A process that was forked from a program does not
hold its locks: it may outlive the program, which then could not continue.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["release", "take"]

_LOCK = ".active"
_HELD: dict[Path, int] = {}
"""Folders that this process trains in, with the descriptors of their locks."""


def take(folder: Path, *, shared: bool) -> bool:
    """Takes a folder until `release` or the end of this process.

    Args:
        folder: The folder, which is made if it does not exist.
        shared: Whether others may share it who take it as shared too.

    Returns:
        Whether no other process has it; also true if the disk has no locks.
    """
    path = folder.absolute()
    if path in _HELD:
        return True
    try:
        path.mkdir(parents=True, exist_ok=True)
        _HELD[path] = lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        release(path)
        return False
    except OSError:  # a disk without locks, or a folder that cannot be written to, which is reported later
        return True
    return True


def release(folder: Path) -> None:
    """Releases a folder, if this process has it."""
    if lock := _HELD.pop(folder.absolute(), None):
        os.close(lock)


def _release_all() -> None:
    for folder in [*_HELD]:
        with suppress(OSError):  # the child has closed all that it has inherited
            release(folder)


os.register_at_fork(after_in_child=_release_all)
