"""What every simulator of the benchmark offers, and what its process measures of itself."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Simulator(NamedTuple):
    """Both return what they computed, as NumPy arrays."""

    forward: Callable[[], Array]
    gradient: Callable[[], Array]


class Measured(NamedTuple):
    """The fewest seconds of some calls, on the clock and of the processor, and the result of the last one."""

    seconds: float
    processor: float
    result: Array


def resident() -> int:
    """Returns the most MiB this process has held: getrusage would count what its parent held before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def timed(call: Callable[[], Array], seconds: float) -> Measured:
    """Calls once or for so many seconds."""
    least, fewest, end = float("inf"), float("inf"), time.perf_counter() + seconds
    while True:
        start, used = time.perf_counter(), time.process_time()
        result = np.asarray(call())
        now = time.perf_counter()
        least, fewest = min(least, now - start), min(fewest, time.process_time() - used)
        if now > end:
            return Measured(least, fewest, result)
