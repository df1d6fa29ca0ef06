"""Our engine, without TensorFlow around it."""

from typing import Any

import numpy as np

from bench.case import Case
from bench.simulators.cirq_circuit import cirq_circuit, inputs_of
from bench.simulators.simulator import Array, Simulator


def fused_plan(case: Case) -> Any:
    """What our engine does for a case."""
    from qtj_simulator.fused.engine import lanes
    from qtj_simulator.fused.plan import fused_circuit
    from qtj_simulator.fused.shape import Tuning
    from qtj_simulator.specification import Specification

    circuit, readouts, turns, angles = cirq_circuit(case)
    asked = Specification(circuit, tuple(readouts), tuple(turns), tuple(angles))
    return fused_circuit(asked).plan(Tuning(lanes(), batch=case.batch))


def fused(case: Case, threads: int) -> Simulator:
    """Our engine, without TensorFlow around it."""
    from qtj_simulator.fused.engine import Engine

    engine = Engine(fused_plan(case), threads=threads, keep_bytes=1 << 30)
    data, inputs = case.data(), inputs_of(case)
    upstream = np.tile(data["coefficients"] / case.batch, (case.batch, 1))

    def gradient() -> Array:
        engine.values(inputs, data["parameters"])
        return engine.gradients(inputs, data["parameters"], upstream)[1]

    return Simulator(lambda: engine.values(inputs, data["parameters"])[0], gradient)
