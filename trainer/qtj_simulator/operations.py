"""What Cirq knows about an operation: its names, its parts, and what its simulator does to a state.

`acted` is the reference for all else that a gate says of itself. `cirq.unitary` is none: in Cirq 1.5, it is wrong for
control values that are bools, because NumPy takes them for a mask. So is a decomposition that depends on which qubits
are neighbours.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import cirq
import numpy as np
import sympy
from numpy.typing import NDArray

__all__ = [
    "Power",
    "acted",
    "acted_matrix",
    "in_a_line",
    "is_its_parts",
    "parameter_names",
    "parts_of",
    "parts_of_matrix",
    "plain",
    "resolved",
]

State = NDArray[np.complex128]


_POWERS: frozenset[type] = frozenset({
    cirq.CXPowGate, cirq.CZPowGate, cirq.HPowGate, cirq.ISwapPowGate, cirq.Rx, cirq.Ry, cirq.Rz, cirq.SwapPowGate,
    cirq.XPowGate, cirq.XXPowGate, cirq.YPowGate, cirq.YYPowGate, cirq.ZPowGate, cirq.ZZPowGate,
    *map(type, (cirq.X, cirq.Y, cirq.Z)),
})  # fmt: skip
"""Gates that are an exponent, a global shift and a dimension, and nothing else."""


@dataclass(frozen=True, slots=True)
class Power:
    """Which gate a power is of. Cirq and SymPy take far longer to compare gates.

    Attributes:
        kind: The class of the gate.
        shift: Its global shift.
        dimension: The levels that it acts on.
        gate: The gate with some exponent.
    """

    kind: type
    shift: float
    dimension: int
    gate: cirq.EigenGate = field(compare=False)

    @classmethod
    def of(cls, gate: cirq.Gate | None) -> Self | None:
        """Returns what a gate is a power of; None if it may be more than a power, as a gate of a user."""
        if type(gate) not in _POWERS or not isinstance(gate, cirq.EigenGate):
            return None
        if not isinstance(gate.exponent, int | float | sympy.Basic):
            return None
        return cls(type(gate), gate.global_shift, getattr(gate, "dimension", 2), gate)

    @property
    def names(self) -> set[str]:
        """The names of the symbols in its exponent."""
        exponent = self.gate.exponent
        return {symbol.name for symbol in exponent.free_symbols} if isinstance(exponent, sympy.Basic) else set()


def plain(operation: cirq.Operation) -> cirq.Operation:
    """Returns an operation without tags, and with control values that are integers."""
    operation = operation.untagged
    if not isinstance(operation, cirq.ControlledOperation):
        return operation
    values = operation.control_values
    if all(type(value) is int for each in values.expand() for value in each):
        return operation
    if not isinstance(values, cirq.ProductOfSums):
        values = cirq.SumOfProducts([[int(value) for value in each] for each in values.expand()])
    else:
        values = cirq.ProductOfSums([[int(value) for value in each] for each in values])
    return cirq.ControlledOperation(operation.controls, operation.sub_operation, values)


def parameter_names(operation: cirq.Operation) -> set[str]:
    """Returns the names of an operation's symbols; some gates do not name their own, as Cirq 1.5's PhasedFSimGate."""
    if power := Power.of(operation.gate):
        return power.names
    named = set(cirq.parameter_names(operation))
    if named or not cirq.is_parameterized(operation):
        return named
    return {name for part in parts_of(operation) or () for name in cirq.parameter_names(part)}


def resolved(operation: cirq.Operation, symbols: Mapping[str, float]) -> cirq.Operation | None:
    """Returns an operation with numbers for its symbols; None where it takes only others, as for a count."""
    try:
        return cirq.resolve_parameters(operation, symbols)
    except (TypeError, ValueError):
        return None


def parts_of(operation: cirq.Operation) -> list[cirq.Operation] | None:
    """Returns the parts into which Cirq decomposes an operation; None if there are none."""
    try:
        with _quiet():
            parts: list[cirq.Operation] | None = cirq.decompose_once(operation, None)
    except (TypeError, ValueError):  # a symbol where it needs a number; a matrix on three qubits loses precision
        return None
    return parts


def parts_of_matrix(qubits: Sequence[cirq.Qid], matrix: State) -> list[cirq.Operation] | None:
    """Returns operations on one and two qubits with this matrix, complex128 (2^q, 2^q); None if it is not unitary."""
    try:
        with _quiet():
            return list(cirq.quantum_shannon_decomposition([*qubits], matrix))
    except ValueError:
        return None


def _quiet() -> "warnings.catch_warnings[None]":
    """Cirq 1.5 warns hundreds of times of a change in its own next version."""
    return warnings.catch_warnings(action="ignore", category=FutureWarning)


def is_its_parts(operation: cirq.Operation) -> bool:
    """Whether Cirq's simulator, too, knows no more of an operation than its parts."""
    if isinstance(operation, cirq.CircuitOperation):
        return True
    known = ("_unitary_", "_apply_unitary_", "_act_on_")
    return isinstance(operation, cirq.GateOperation) and not any(hasattr(operation.gate, each) for each in known)


def acted(operation: cirq.Operation, state: State) -> State | None:
    """Applies an operation to states as Cirq's simulator does.

    Args:
        operation: An operation without symbols, on qubits.
        state: complex128 (2, ..., 2, columns), an axis for each of its qubits.

    Returns:
        The states after it; None if it is not unitary.
    """
    try:
        with _quiet():
            if _acts_in_its_own_way(operation):
                return _acted_on(operation, state) if cirq.has_unitary(operation) else None
            arguments = cirq.ApplyUnitaryArgs(state.copy(), np.empty_like(state), range(state.ndim - 1))
            result: State | None = cirq.apply_unitary(operation, arguments, None)
    except (TypeError, ValueError):
        return None
    return result


def acted_matrix(operation: cirq.Operation) -> State | None:
    """Returns the matrix of what Cirq's simulator does, complex128 (2^q, 2^q); None if it is not unitary."""
    size = 2 ** len(operation.qubits)
    columns = acted(operation, np.eye(size, dtype=complex).reshape(*[2] * len(operation.qubits), size))
    return None if columns is None else columns.reshape(size, size)


def in_a_line(operation: cirq.Operation) -> str:
    """Returns the name of an operation on one line; Cirq draws a matrix on several lines."""
    said = str(operation)
    if "\n" not in said:
        return said
    return f"a {type(operation.gate or operation).__name__} on {', '.join(map(str, operation.qubits))}"


def _acts_in_its_own_way(operation: cirq.Operation) -> bool:
    subject: Any = operation.gate if isinstance(operation, cirq.GateOperation) else operation
    return hasattr(subject, "_act_on_")


def _acted_on(operation: cirq.Operation, state: State) -> State:
    columns = cirq.NamedQid("columns", dimension=state.shape[-1])
    length = np.linalg.norm(state)
    simulated = cirq.StateVectorSimulationState(
        initial_state=state / length, qubits=[*operation.qubits, columns], dtype=np.complex128
    )
    cirq.act_on(operation, simulated)
    return np.asarray(length * simulated.target_tensor)
