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

from bench.case import Case
from bench.simulators.fused import fused
from bench.simulators.lightning import lightning
from bench.simulators.qulacs import qulacs
from bench.simulators.simulator import Simulator, resident, timed
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


def serve() -> None:
    """Answers commands until stdin ends."""
    engine, *numbers = sys.argv[1:]
    qubits, layers, batch, threads = map(int, numbers)
    gc.disable()
    for name in _LIBRARIES[engine]:
        import_module(name)
    gc.freeze()
    gc.enable()
    before = resident()
    simulator = cache(partial(SIMULATORS[engine], Case(qubits, layers, batch), threads))
    print(flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        what = line.strip()
        if what == "first":
            measured = timed(lambda: simulator().gradient(), 0)
        else:
            measured = timed(getattr(simulator(), what), _LEAST_SECONDS)
        answer = {"seconds": measured.seconds, "spent": time.perf_counter() - start, "mib": resident() - before}
        sys.stdout.write(json.dumps(answer | {"result": measured.result.ravel()[:5].tolist()}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    serve()
