"""The lock that keeps a folder for one `qtj run`."""

import fcntl
import time

__all__ = ["WAIT_SECONDS", "locked"]

WAIT_SECONDS = 1.0
"""How long to try to get a lock: a process that only checks it holds it for a moment."""


def locked(descriptor: int) -> None:
    """Takes the lock.

    Raises:
        BlockingIOError: Another process holds it.
        OSError: The file system has no locks.
    """
    last = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > last:
                raise
            time.sleep(0.02)
        else:
            return
