"""A structure of circuits with its engine."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.cpu import default_threads
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import library
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.specification import Readout, Specification, specified
from qtj_simulator.tfq.circuits import Structure, parsed

__all__ = ["Asked", "Planned"]

Array = NDArray[Any]


class Asked(NamedTuple):
    """What a group of examples has in common.

    Attributes:
        structure: The structure of their circuits.
        operators: Their serialised readouts.
        names: Names of the symbols that have a value for each example.
    """

    structure: Structure
    operators: tuple[bytes, ...]
    names: tuple[str, ...]


class Planned:
    """The engine for a group of examples.

    Attributes:
        plan: How it simulates many of them.
        numbers: How many numbers each circuit has.
    """

    def __init__(self, asked: Asked, model: cirq.Circuit, weights: Sequence[str]) -> None:
        """Plans the circuit.

        Args:
            asked: What the examples have in common.
            model: The circuit that follows each of theirs.
            weights: Names of its symbols that all examples share.

        Raises:
            TypeError: If TensorFlow Quantum cannot read a gate or readout.
            UnsupportedError: If the engine does not support the circuit, or TensorFlow Quantum refuses it.
            ValueError: If the circuit is not unitary, or a symbol has no value.
        """
        library().qtj_use_threads(default_threads())
        specification = _specification(asked, model, weights)
        plans = fused_circuit(specification).plans(lanes())
        self.plan = plans[0]
        self.numbers = len(asked.structure.numbers)
        self._engine = Engine(*plans, threads=0, keep_bytes=None)

    def values(self, numbers: Array, values: Array, weights: Array) -> Array:
        """Returns float64 (examples, readouts) for (examples, numbers), (examples, names) and (weights,)."""
        return self._engine.values(self._inputs(numbers, values), weights)

    def gradients(self, numbers: Array, values: Array, weights: Array, upstream: Array) -> tuple[Array, Array]:
        """Returns the gradients by `values` and `weights`, as `Engine.gradients` does."""
        by_inputs, by_weights = self._engine.gradients(self._inputs(numbers, values), weights, upstream)
        return by_inputs[:, self.numbers :], by_weights

    def _inputs(self, numbers: Array, values: Array) -> Array:
        return np.hstack([numbers[:, : self.numbers], values])


def _specification(asked: Asked, model: cirq.Circuit, weights: Sequence[str]) -> Specification:
    circuit = asked.structure.circuit() + model
    readouts: Sequence[Readout] = parsed(asked.operators)
    if not asked.structure.qubits:
        raise UnsupportedError("a circuit is empty")
    if absent := _absent(readouts, circuit):
        raise UnsupportedError(f"an operator is on {absent}, which the circuit does not have")
    return specified(circuit, readouts, [*asked.structure.numbers, *asked.names], weights)


def _absent(readouts: Iterable[Readout], circuit: cirq.Circuit) -> str:
    absent = {qubit for readout in readouts for qubit in readout.qubits} - circuit.all_qubits()
    return ", ".join(map(str, sorted(absent)))
