"""Signals that a command with a live display handles."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["sigterm_exits"]


@contextmanager
def sigterm_exits() -> Iterator[None]:
    """Lets SIGTERM end the process by way of its context managers, which give the terminal its cursor back."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _: object) -> NoReturn:
    """Ends the process with the exit code that the signal would give it."""
    sys.exit(128 + number)
