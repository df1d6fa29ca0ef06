"""Ends the process on SIGTERM, which TensorFlow would otherwise swallow.

A multi-worker strategy installs a handler of its own that notes the signal and goes on training. And a Python handler
only runs between two steps of the main thread, which may sit in a simulation for minutes or wait for a dead peer.
So the signal is blocked in all threads and one thread waits for it: no handler is called, and none can be replaced.
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
