"""Expectation values and gradients of parametrised circuits, as one Keras layer.

A model asks for `expectation_layer` and names an engine at most:

    fused   our own: gates fused into 4x4 blocks, one sweep back for all gradients, native vector code (`fused/`)
    tfq     TensorFlow Quantum's simulator
"""

from collections.abc import Sequence

import cirq
import sympy

from qtj_trainer.engines import EngineName
from qtj_trainer.simulate.pqc import PQC

__all__ = ["PQC", "EngineName", "expectation_layer"]


def expectation_layer(
    circuit: cirq.Circuit,
    readouts: Sequence[cirq.PauliString | cirq.PauliSum],
    *,
    inputs: Sequence[sympy.Symbol],
    weights: Sequence[sympy.Symbol],
    seed: int,
    engine: str = EngineName.FUSED,
    name: str = "expectation",
) -> PQC:
    """Builds the layer that maps data angles to expectation values and learns the other angles.

    One circuit serves every example; an example is its row of data angles. So a batch is an array of floats that can be
    split over workers like any other.

    Args:
        circuit: Starts from |0...0⟩; its symbols are `inputs` and `weights`, together and each once.
        readouts: The observables.
        inputs: The symbols a batch sets.
        weights: The symbols the layer learns.
        seed: Decides the initial weights, alone.
        engine: What computes it, see `PQC`.
        name: Name of the layer.

    Returns:
        A layer from float32 (batch, len(inputs)) to float32 (batch, len(readouts)).

    Raises:
        ValueError: If `inputs` and `weights` are not the symbols of the circuit, or no engine takes it.
    """
    unused = {str(symbol) for symbol in (*inputs, *weights)} - cirq.parameter_names(circuit)
    if unused:
        raise ValueError(f"the circuit does not have the symbols {', '.join(sorted(unused))}")
    return PQC(circuit, readouts, inputs=inputs, weights=weights, seed=seed, engine=engine, name=name)
