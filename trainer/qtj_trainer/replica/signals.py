"""Ends the process on SIGTERM: between two steps and with a checkpoint if possible, otherwise at once.

Three things make this difficult. The first process of a container is not ended by a signal without a handler. A
multi-worker strategy installs its own handler, which records the signal and continues training. And a handler in Python
runs only between two bytecodes of the main thread, which may simulate for minutes.

So SIGTERM is blocked in all threads except one, which waits for it: no handler is called, and none can be replaced.
That thread needs Python's lock; `qtj_trainer.replicate.rendezvous` avoids the one place that would hold it.

    before training            ends at once
    training                   the main thread has `patience` seconds to end its step; if it waits for a lost peer, the
                               step does not end
    storing a checkpoint       waits: Kubernetes sends SIGKILL after the grace period
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import NoReturn

from qtj_trainer.errors import StoppedError

__all__ = ["Stop", "block_sigterm", "exit_interrupted", "exit_now"]

_POLL = 0.05
"""Seconds between two checks of the clock."""

_SPARE_SECONDS = 2.0
_SPARE_STEPS = 3
"""How long a process waits for the end of its step on SIGTERM: the time of so many steps, and so many seconds."""

_AUTOGRAPH = "__autograph_generated_file"

_INTERRUPTED = 128 + signal.SIGINT
"""The exit code that a shell has for a program that SIGINT has ended."""


def exit_now(code: int) -> NoReturn:
    """Ends the process without the teardown of Python and TensorFlow, which may wait for lost peers."""
    _delete_autograph()
    os._exit(code)


def exit_interrupted() -> NoReturn:
    """Ends the process as Ctrl-C ends others: a shell that runs it in a loop ends then too."""
    _delete_autograph()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
    os._exit(_INTERRUPTED)  # the first process of a container is not ended by a signal


def _delete_autograph() -> None:
    """Deletes the source files of AutoGraph's modules, as the teardown of Python would."""
    for name, module in list(sys.modules.items()):
        # Only the files that this process has loaded: nothing is deleted by the name of a folder or by a pattern.
        if name.startswith(_AUTOGRAPH) and module.__file__:
            with suppress(OSError):
                Path(module.__file__).unlink()


def block_sigterm() -> None:
    """Blocks SIGTERM in this thread and in those that it starts, until one of them waits for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


class Stop:
    """Whether SIGTERM has arrived.

    Attributes:
        patience: Seconds that the main thread has after SIGTERM.
    """

    def __init__(self) -> None:
        self.patience = 0.0
        self._requested = threading.Event()

    def listen(self) -> None:
        """Handles SIGTERM from now on. Call it before any other thread exists."""
        block_sigterm()
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    def request(self) -> None:
        """Asks the process to end, as SIGTERM does."""
        self._requested.set()

    def is_requested(self) -> bool:
        """Returns whether the process must end."""
        return self._requested.is_set()

    def wait(self, seconds: float) -> None:
        """Sleeps for a number of seconds, or until SIGTERM arrives."""
        self._requested.wait(seconds)

    def expect(self, seconds: float) -> None:
        """Sets the time that the main thread has to end its step, from the seconds that the last step took."""
        self.patience = _SPARE_SECONDS + _SPARE_STEPS * seconds

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Gives the main thread unlimited time, for work that must not be interrupted."""
        patience, self.patience = self.patience, inf
        try:
            yield
        finally:
            self.patience = patience

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        arrived = time.monotonic()
        self.request()
        while time.monotonic() < arrived + self.patience:
            time.sleep(_POLL)
        exit_now(StoppedError.exit_code)
