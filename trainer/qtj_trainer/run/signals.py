"""Ends the process on SIGTERM, at any moment.

Three things stand in the way. As the first process of a container Python is never ended by a signal it has no handler
for. A multi-worker strategy installs a handler of its own, which notes the signal and trains on. And a handler written
in Python runs only between two steps of the main thread, which may simulate for minutes.

So SIGTERM is blocked in all threads but one, which waits for it: no handler is called, and none can be replaced. That
thread needs Python's lock to go on; see `qtj_trainer.run.rendezvous` for the one place that would withhold it.
"""

import os
import signal
import threading

__all__ = ["end_on_sigterm"]


def end_on_sigterm() -> None:
    """Ends the process with 143 as soon as it is told to. To be called before any other thread exists."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_wait, name="sigterm", daemon=True).start()


def _wait() -> None:
    signal.sigwait({signal.SIGTERM})
    os._exit(128 + signal.SIGTERM)
