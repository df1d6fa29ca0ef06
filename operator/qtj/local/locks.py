"""The lock that keeps a folder for one `qtj run`."""

import fcntl
import time

__all__ = ["locked"]

_SECONDS = 1.0
"""How long a lock is tried for: somebody who only looks whether it is taken has it for a moment."""


def locked(descriptor: int) -> None:
    """Takes the lock.

    Raises:
        BlockingIOError: Somebody keeps it.
        OSError: The file system has none.
    """
    last = time.monotonic() + _SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > last:
                raise
            time.sleep(0.02)
        else:
            return
