"""The trainer with a pause after each epoch, for the pods of a test: its speed does not decide what the test sees.

It runs as `python -c`, with the arguments of the trainer.
"""

import runpy
import time

from qtj_trainer.loop.stopwatch import Stopwatch

_PAUSE = 0.2
"""Seconds."""

_restart = Stopwatch.restart


def _paced(stopwatch: Stopwatch) -> None:
    time.sleep(_PAUSE)
    _restart(stopwatch)


Stopwatch.restart = _paced  # type: ignore[assignment, method-assign]
runpy.run_module("qtj_trainer", run_name="__main__", alter_sys=True)
