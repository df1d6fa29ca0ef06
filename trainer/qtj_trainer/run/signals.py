"""Ends the process on SIGTERM: between two steps and with a checkpoint if it can, at once if not.

Three things stand in the way. As the first process of a container Python is never ended by a signal it has no handler
for. A multi-worker strategy installs a handler of its own, which notes the signal and trains on. And a handler written
in Python runs only between two steps of the main thread, which may simulate for minutes.

So SIGTERM is blocked in all threads but one, which waits for it: no handler is called, and none can be replaced. That
thread needs Python's lock to go on; see `qtj_trainer.replicate.rendezvous` for the one place that would withhold it.

    before training            ends at once
    training                   the main thread has `patience` to come to the end of its step; it may be waiting for a
                               peer that is gone, and then no end of the step will come
    storing a checkpoint       waits: Kubernetes sends SIGKILL when the grace period is over
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

__all__ = ["Stop", "hold_back", "leave"]

_LOOK = 0.05
"""Seconds between two looks at the clock."""

_SPARE_SECONDS = 2.0
_SPARE_STEPS = 3
"""How long a process that is told to end waits for the end of its step: so many steps, and so many seconds."""

_AUTOGRAPH = "__autograph_generated_file"


def leave(code: int) -> NoReturn:
    """Ends the process without Python's and TensorFlow's teardown, which may wait for peers that are gone.

    AutoGraph's modules would leave their sources behind, as that teardown deletes them.
    """
    for name, module in list(sys.modules.items()):
        # Only the very files this process has loaded: nothing is deleted by a folder's or a pattern's name.
        if name.startswith(_AUTOGRAPH) and module.__file__:
            with suppress(OSError):
                Path(module.__file__).unlink()
    os._exit(code)


def hold_back() -> None:
    """Keeps SIGTERM from this thread and from those it starts, until one listens to it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


class Stop:
    """Whether this process was told to end.

    Attributes:
        patience: Seconds that the main thread has from then on.
    """

    def __init__(self) -> None:
        self.patience = 0.0
        self._told = threading.Event()

    def listen(self) -> None:
        """Takes SIGTERM from now on. To be called before any other thread exists."""
        hold_back()
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    def is_told(self) -> bool:
        """Tells whether to come to an end."""
        return self._told.is_set()

    def wait(self, seconds: float) -> None:
        """Sleeps, but not longer than until this process is told to end."""
        self._told.wait(seconds)

    def expect(self, seconds: float) -> None:
        """Gives the main thread the time to come to the end of its step, from what the last one took."""
        self.patience = _SPARE_SECONDS + _SPARE_STEPS * seconds

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Gives the main thread all the time it needs, for something that must not be left half done."""
        patience, self.patience = self.patience, inf
        try:
            yield
        finally:
            self.patience = patience

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        told = time.monotonic()
        self._told.set()
        while time.monotonic() < told + self.patience:
            time.sleep(_LOOK)
        leave(StoppedError.exit_code)
