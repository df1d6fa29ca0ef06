"""One command at a time: two `up` at once would start everything twice."""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .shell import say


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds a lock file, once whoever has it is done; the holder may remove it."""
    while True:
        with path.open("a+") as lock:
            take(lock, path)
            if _is(lock, path):
                yield
                return


def take(lock: IO[str], path: Path) -> None:
    """Takes a lock file that is open; says who has it, if it has to wait."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)  # not by its name: the holder may have removed it since
        say(f"another command uses this cluster, and this one waits for it: {lock.read() or path}")
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    lock.write(f"{' '.join(sys.argv)} (pid {os.getpid()}, in {Path.cwd()})")
    lock.flush()


def _is(lock: IO[str], path: Path) -> bool:
    """Whether it is still this file that the next one will find: the holder before may have removed it."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
