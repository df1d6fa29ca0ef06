"""One engine in a process of its own: `python -m bench.wide.process ENGINE QUBITS LAYERS THREADS WHAT...`.

WHAT is values, or gradient, which is the values with all slopes. It prints a line of JSON for each.
"""

import json
import sys
import time
from importlib import import_module

from bench.simulators.simulator import resident, timed
from bench.wide import engines
from bench.wide.chain import Chain

_LIBRARIES = {
    "ours": ("cirq", "sympy", "qtj_simulator.expectation"),
    "tfq": ("qtj_simulator.tfq_op",),
    "qsim": ("qsimcirq",),
    "lightning": ("pennylane_lightning.lightning_qubit",),
}
"""Imported before the clock starts and memory is counted."""

_REPEATED = 20.0
"""Seconds of a first call below which there is another one, with memory that the process has already."""


def main() -> None:
    """Measures and prints."""
    engine, qubits, layers, threads, *wanted = sys.argv[1:]
    for name in _LIBRARIES[engine]:
        import_module(name)
    before, start = resident(), time.perf_counter()
    simulator = getattr(engines, engine)(Chain(int(qubits), int(layers)), int(threads))
    calls = {"values": simulator.forward, "gradient": simulator.gradient}
    for what in wanted:
        call = calls[what]
        first = timed(call, 0)
        began = time.perf_counter() - start  # with what the engine does before its first value
        best = timed(call, 1) if first.seconds < _REPEATED else first
        figures = {"first": began, "seconds": min(first.seconds, best.seconds), "mib": resident() - before}
        figures["processor"] = min(first.processor, best.processor)
        print(json.dumps({"what": what, **figures, "result": first.result.ravel().tolist()}), flush=True)
        start = time.perf_counter()


if __name__ == "__main__":
    main()
