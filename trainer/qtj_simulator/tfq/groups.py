"""The circuits of a batch in groups that have a structure, and so an engine, in common."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple

import cirq
import numpy as np
from numpy.typing import NDArray
from tensorflow_quantum.core.serialize.op_serializer import qubit_to_proto

from qtj_contract.printable import reason_of
from qtj_simulator.engines import default_threads
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import library
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.specification import Readout, Specification, specified
from qtj_simulator.tfq.circuits import Circuit, Structure, divided, parsed

__all__ = ["Batch", "Groups"]

Array = NDArray[Any]

_MOST_CIRCUITS = 1 << 16
"""How many circuits of a layer are kept, as numbers: each needs about 1 KiB."""
_MOST_PLANS = 64
_MOST_STRUCTURES = 8
"""In one batch. Planning more takes longer than simulating them."""


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


class Batch(NamedTuple):
    """A batch as the engines take it.

    Attributes:
        groups: int32 (batch,), the group of each example.
        numbers: float64 (batch, most numbers of an example).
    """

    groups: Array
    numbers: Array


class Groups:
    """The circuits of one layer, each read once, and their engines. Several threads may call it."""

    def __init__(self, model: cirq.Circuit, weights: Sequence[str], *, patient: bool) -> None:
        """Remembers what all circuits have in common.

        Args:
            model: The circuit that follows each of them.
            weights: Names of the symbols that all examples share.
            patient: Whether a structure is planned only when a second batch has it.
        """
        self._model, self._weights, self._patient = model, tuple(weights), patient
        self._qubits: frozenset[str] = frozenset(map(qubit_to_proto, model.all_qubits()))
        self._circuits: dict[bytes, Circuit] = {}
        self._known: dict[Asked, int | str] = {}  # the number of the group, or why it has no engine
        self._planned: list[Planned] = []
        self._recent = deque[Asked](maxlen=_MOST_PLANS)
        self._lock = Lock()

    @property
    def plans(self) -> list[str]:
        """How each group is simulated."""
        return [each.plan.explain() for each in self._planned]

    def read(self, circuits: Array, names: Array, operators: Array) -> Batch | None:
        """Reads a batch, and plans what it needs.

        Args:
            circuits: Serialised circuits, (batch,), as bytes.
            names: Names of the symbols that have a value for each example, (names,), as bytes.
            operators: The serialised readouts, (1 or batch, readouts), as bytes.

        Returns:
            The batch; None if a structure is not planned yet.

        Raises:
            google.protobuf.message.DecodeError: If these bytes are not circuits.
            UnsupportedError: If the engine cannot simulate a circuit.
        """
        with self._lock:
            read = [self._read(each) for each in circuits]
            rows, columns = [tuple(row) for row in operators], tuple(name.decode(errors="replace") for name in names)
            asked = [Asked(circuit.structure, rows[index % len(rows)], columns) for index, circuit in enumerate(read)]
            groups = self._groups(dict.fromkeys(asked))
        if groups is None:
            return None
        numbers = np.zeros((len(read), max(len(circuit.numbers) for circuit in read)))
        for row, circuit in zip(numbers, read, strict=True):
            row[: len(circuit.numbers)] = circuit.numbers
        return Batch(np.array([groups[each] for each in asked], np.int32), numbers)

    def values(self, groups: Array, numbers: Array, values: Array, weights: Array) -> Array:
        """Returns float32 (batch, readouts) for a `Batch`, float (batch, names) and float (weights,)."""
        parts = [
            (rows, planned.values(numbers[rows], values[rows], weights)) for rows, planned in self._engines(groups)
        ]
        every = np.empty((len(groups), parts[0][1].shape[1]), np.float32)
        for rows, part in parts:
            every[rows] = part
        return every

    def gradients(
        self, groups: Array, numbers: Array, values: Array, weights: Array, upstream: Array
    ) -> tuple[Array, Array]:
        """Returns the gradients of sum(upstream * values), float32, by `values` and `weights`."""
        by_values, by_weights = np.empty(values.shape, np.float32), np.zeros(weights.shape)
        for rows, planned in self._engines(groups):
            by_values[rows], shared = planned.gradients(numbers[rows], values[rows], weights, upstream[rows])
            by_weights += shared
        return by_values, by_weights.astype(np.float32)

    def _read(self, serialised: bytes) -> Circuit:
        digest = blake2b(serialised, digest_size=16).digest()
        if digest not in self._circuits:
            if len(self._circuits) == _MOST_CIRCUITS:
                self._circuits.clear()
            self._circuits[digest] = divided(serialised, self._qubits)
        return self._circuits[digest]

    def _groups(self, asked: Iterable[Asked]) -> dict[Asked, int] | None:
        several = list(asked)
        if len(several) > _MOST_STRUCTURES:
            raise UnsupportedError(
                f"a batch has circuits of {len(several)} structures, and the engine takes {_MOST_STRUCTURES} at most"
            )
        new = [each for each in several if each not in self._known and each not in self._recent]
        if self._patient and new:
            self._recent.extend(new)
            return None
        return {each: self._group(each) for each in several}

    def _group(self, asked: Asked) -> int:
        if asked not in self._known:
            if len(self._known) == _MOST_PLANS:
                raise UnsupportedError(f"the layer had circuits of {_MOST_PLANS} other structures before")
            self._known[asked] = self._plan(asked)
        group = self._known[asked]
        if isinstance(group, str):
            raise UnsupportedError(group)
        return group

    def _plan(self, asked: Asked) -> int | str:
        """Plans a group, and returns its number. If it cannot, it returns the reason, so that this is tried once."""
        try:
            self._planned.append(Planned(asked, self._model, self._weights))
        except (UnsupportedError, TypeError, ValueError) as problem:
            return reason_of(problem)
        return len(self._planned) - 1

    def _engines(self, groups: Array) -> Iterator[tuple[Any, Planned]]:
        """Yields the examples of each group, with their engine."""
        for group in np.unique(groups):
            yield (groups == group).nonzero()[0], self._planned[group]
