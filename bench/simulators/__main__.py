"""The simulators, each behind the same two functions: the loss, and the loss with its gradient.

`python -m bench.simulators ENGINE QUBITS LAYERS BATCH THREADS` answers each line on stdin with a JSON line: "first"
with the first gradient of all, "forward" and "gradient" with the fastest of some. It writes an empty line when it has
imported its libraries. One process for each engine, so that they can take turns and none disturbs the other's threads.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np

from bench.case import Case
from bench.simulators.fused import fused
from bench.simulators.lightning import lightning
from bench.simulators.qulacs import qulacs
from bench.simulators.simulator import Array, Simulator
from bench.simulators.tensorcircuit import tensorcircuit
from bench.simulators.tfq import tfq
from bench.simulators.trainer import trainer_fused, trainer_tfq

SIMULATORS: dict[str, Callable[[Case, int], Simulator]] = {
    each.__name__: each for each in (fused, tfq, tensorcircuit, lightning, qulacs, trainer_fused, trainer_tfq)
}

_LIBRARIES = {
    "fused": ("cirq", "qtj_simulator.fused.engine"),
    "tfq": ("qtj_simulator.tfq_op",),
    "tensorcircuit": ("jax", "tensorcircuit"),
    "lightning": ("pennylane_lightning.lightning_qubit",),
    "qulacs": ("qulacs",),
    "trainer_fused": ("tensorflow",),
    "trainer_tfq": ("tensorflow",),
}
"""Imported before the clock starts and memory is counted. What they leave is no garbage, and is not looked through."""

_LEAST_SECONDS = 0.2
"""Calls that take less are repeated for so long: the caches are the simulator's own by then."""


def _resident() -> int:
    """Returns the most MiB this process has held: getrusage would count what its parent held before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _timed(call: Callable[[], Array], seconds: float) -> tuple[float, Array]:
    """Calls once or for so many seconds; returns the seconds of the fastest call, and its result."""
    least, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        result = np.asarray(call())
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return least, result


def serve() -> None:
    """Answers commands until stdin ends."""
    engine, *numbers = sys.argv[1:]
    qubits, layers, batch, threads = map(int, numbers)
    gc.disable()
    for name in _LIBRARIES[engine]:
        import_module(name)
    gc.freeze()
    gc.enable()
    before = _resident()
    simulator = cache(partial(SIMULATORS[engine], Case(qubits, layers, batch), threads))
    print(flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        what = line.strip()
        if what == "first":
            seconds, result = _timed(lambda: simulator().gradient(), 0)
        else:
            seconds, result = _timed(getattr(simulator(), what), _LEAST_SECONDS)
        answer = {"seconds": seconds, "spent": time.perf_counter() - start, "mib": _resident() - before}
        sys.stdout.write(json.dumps(answer | {"result": result.ravel()[:5].tolist()}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    serve()
