"""Signals that a command with a live display handles."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["ctrl_c_at_waits", "sigterm_exits"]


@contextmanager
def ctrl_c_at_waits() -> Iterator[Callable[[float], None]]:
    """Yields a `time.sleep` that raises the KeyboardInterrupt of a Ctrl-C which came since.

    In the middle of a line, a KeyboardInterrupt would leave the console in a state in which it prints nothing more, or
    prints the line again. A second Ctrl-C is not held back: the command may hang in a read.
    """
    pressed = False

    def hold(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def wait(seconds: float) -> None:
        if not pressed:
            time.sleep(seconds)
        if pressed:
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored, as by a shell's `&`
        signal.signal(signal.SIGINT, hold)
    try:
        yield wait
    finally:
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, signal.default_int_handler)


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
