"""Expectation values and gradients of parametrised circuits, as Keras layers.

A model uses `expectation_layer`, and may choose an engine:

    fused   our own: gates fused into 4x4 blocks, one backward sweep for all gradients, native vector code (`fused/`)
    tfq     TensorFlow Quantum's simulator

`NoisyPQC` is the layer for noise and shots (`noise/`).
"""

from collections.abc import Sequence

import cirq
import sympy

from qtj_trainer.engines import EngineName
from qtj_trainer.simulate.noise import Estimate, NoisyPQC
from qtj_trainer.simulate.pqc import PQC

__all__ = ["PQC", "EngineName", "Estimate", "NoisyPQC", "expectation_layer"]


def expectation_layer(
    circuit: cirq.Circuit,
    readouts: Sequence[cirq.PauliString | cirq.PauliSum],
    *,
    inputs: Sequence[sympy.Symbol],
    weights: Sequence[sympy.Symbol],
    seed: int,
    engine: str = EngineName.FUSED,
    dtype: str = "float32",
    name: str = "expectation",
) -> PQC:
    """Builds the layer that maps data angles to expectation values and learns the other angles.

    All examples use the same circuit; an example is its row of data angles. So a batch is an array of floats, which can
    be split over workers.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are those of `inputs` and `weights`, each once.
        readouts: The observables.
        inputs: The symbols that a batch sets.
        weights: The symbols that the layer learns.
        seed: Seed of the initial weights.
        engine: The engine, see `PQC`.
        dtype: The precision, see `PQC`.
        name: Name of the layer.

    Returns:
        A layer from (batch, len(inputs)) to (batch, len(readouts)), both of `dtype`.

    Raises:
        ValueError: If `inputs` and `weights` are not the symbols of the circuit, or no engine supports the circuit.
    """
    unused = {str(symbol) for symbol in (*inputs, *weights)} - cirq.parameter_names(circuit)
    if unused:
        raise ValueError(f"the circuit does not have the symbols {', '.join(sorted(unused))}")
    return PQC(circuit, readouts, inputs=inputs, weights=weights, seed=seed, engine=engine, dtype=dtype, name=name)
