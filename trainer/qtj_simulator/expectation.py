"""The fused engine for a circuit of Cirq."""

import cirq

from qtj_simulator.engines import Precision, default_threads
from qtj_simulator.fused.device import engine_for
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.specification import Readouts, Symbols, specified

__all__ = ["expectation_engine"]


def expectation_engine(
    circuit: cirq.AbstractCircuit,
    readouts: Readouts,
    *,
    inputs: Symbols = (),
    weights: Symbols = (),
    dtype: str = "float32",
    threads: int | None = None,
    device: str | None = None,
) -> Engine:
    """Returns the engine for a circuit: it computes expectation values and their gradients from NumPy arrays.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
        readouts: The observables: one, or a list.
        inputs: The symbols with a value for each example, one column each.
        weights: The symbols with one value for all examples.
        dtype: The precision of amplitudes: "float32" for complex64, or "float64" for complex128.
        threads: The number of threads; None: $OMP_NUM_THREADS, or the processors that this process may use.
        device: Where it computes: "cpu"; "gpu", which is refused if it cannot be used; "auto" for a GPU if there is one
            that can be used and has room. None: $QTJ_ENGINE_DEVICE, or else "cpu".

    Raises:
        TypeError: If an argument has the wrong type.
        UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
        ValueError: If the circuit has other symbols, or `dtype` or `device` has no such value.
        MemoryError: If there is not enough memory.
    """
    variant = Precision.of(dtype).variant
    try:
        fused = fused_circuit(specified(circuit, readouts, inputs, weights))
        count = default_threads() if threads is None else threads
        return engine_for(fused, threads=count, variant=variant, device=device)
    except UnsupportedError as problem:
        raise UnsupportedError(problem.sentence) from problem
