"""Measures how long training takes, without the pauses in which it does something else."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopwatch"]


class Stopwatch:
    """Measures from its start, or from the last call of `restart`."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Starts at zero."""
        self._began = time.perf_counter()

    def seconds(self) -> float:
        """Returns the seconds since the start, without pauses."""
        return time.perf_counter() - self._began

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leaves out the time of the block."""
        began = time.perf_counter()
        yield
        self._began += time.perf_counter() - began
