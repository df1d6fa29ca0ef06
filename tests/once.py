"""Folders that one worker of pytest fills for all of them: a build that takes long is done once in a run."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def filled_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], object]) -> Path:
    """Returns a folder of the whole run, which the first that asks for it fills; others wait.

    Args:
        factory: That of the worker.
        name: What no other folder of the run has.
        fill: Fills it; it is called again if it has failed.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    done = folder.with_suffix(".done")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            fill(folder)
            done.touch()
    return folder
