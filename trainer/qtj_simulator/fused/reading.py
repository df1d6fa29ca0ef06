"""Reads the operations of a circuit as elementary gates, and believes none of them unchecked.

An operation says in several ways what it does: by a matrix, by eigenspaces, by a decomposition, by code that changes
a state. These may differ, in Cirq as in a user's gate. Cirq's simulator decides: the gates must do to a random state
what it does, up to a global phase, with random numbers for symbols.

    fixed, on one and two qubits    the matrix is what the simulator does to the identity
    with symbols, on one and two    the eigenspaces; if there are none or they differ, the decomposition
    on more                         the decomposition; if there is none or it differs, that of the simulator's matrix
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

import cirq
import numpy as np
import sympy
from numpy.typing import NDArray

from qtj_simulator.fused.gates import Angle, Gate, UnsupportedError, angle_of, components
from qtj_simulator.operations import (
    Power,
    acted,
    acted_matrix,
    in_a_line,
    is_its_parts,
    parameter_names,
    parts_of,
    parts_of_matrix,
    plain,
    resolved,
)

__all__ = ["elementary"]

Gates = tuple[Gate, ...]
State = NDArray[np.complex128]

_MOST_QUBITS = 2
_MOST_BY_MATRIX = 4
"""A decomposition of a matrix takes a second on four qubits, and seven times as long with each further one."""
_MOST_COMPARED = 20
_EXACT = 1e-11
"""A difference that rounding makes. Beyond it, another way may be nearer."""
_TOLERANCE = 1e-6
"""A matrix in single precision is so far from unitary."""


def elementary(operation: cirq.Operation) -> Iterator[Gate]:
    """Decomposes an operation into gates on one and two qubits, which do what Cirq's simulator does.

    Args:
        operation: A unitary operation with such a decomposition; exponents may be linear functions of symbols.

    Yields:
        Its gates, in order.

    Raises:
        UnsupportedError: If it is a measurement, noise, or does not decompose; or if none of its decompositions is
            what Cirq's simulator does.
    """
    power = Power.of(operation.gate)
    gate = _of_power(power, operation.qubits) if power else None
    if gate is not None:
        yield gate
        return
    operation = plain(operation)
    if not operation.qubits:  # a global phase, which changes no expectation value
        return
    if operation.gate is None or not _is_known(operation.gate):  # it may decompose by its qubits
        yield from _read(operation)
        return
    for part in _gates_of(operation.gate):
        on = tuple(operation.qubits[place.x] for place in part.qubits)
        yield Gate(on, part.eigenvalues, part.projectors, part.angle)


def _of_power(power: Power, qubits: tuple[cirq.Qid, ...]) -> Gate | None:
    exponent = power.gate.exponent
    if isinstance(exponent, sympy.Basic):
        spaces = _spaces_of(power)
        return spaces and Gate(qubits, spaces.eigenvalues, spaces.projectors, angle_of(exponent))
    matrix = _matrix_of(power, exponent)
    return None if matrix is None else Gate(qubits, (0.0,), matrix, None)


@lru_cache(maxsize=1024)
def _spaces_of(power: Power) -> Gate | None:
    return _known_spaces(power.gate._with_exponent(1))  # noqa: SLF001


@lru_cache(maxsize=4096)
def _matrix_of(power: Power, exponent: float) -> State | None:
    spaces = _spaces_of(power)
    return None if spaces is None else spaces.matrix({"t": exponent})[np.newaxis]


def _gates_of(gate: cirq.Gate) -> Gates:
    """Returns the parts of a known gate on line qubits: what it does depends on its qubits in Cirq's mistakes alone."""
    power = _power(gate)
    spaces = _known_spaces(power[0]) if power else None
    if power is None or spaces is None:
        return _read_gate(gate)
    return (Gate(spaces.qubits, spaces.eigenvalues, spaces.projectors, angle_of(power[1])),)


def _is_known(gate: cirq.Gate) -> bool:
    """Whether equal gates do the same: Cirq's own. A user's gate may be changed, or equal to one that it is not."""
    if type(gate).__module__.partition(".")[0] != "cirq":
        return False
    if isinstance(gate, cirq.EigenGate):  # numbers and symbols are all that it has
        return True
    if isinstance(gate, cirq.ControlledGate):  # others may be equal up to a phase, which counts under control
        return isinstance(gate.sub_gate, cirq.EigenGate)
    try:
        hash(gate)
    except TypeError:
        return False
    return all(_is_known(each) for each in getattr(gate, "__dict__", {}).values() if isinstance(each, cirq.Gate))


@lru_cache(maxsize=1024)
def _known_spaces(once: cirq.Gate) -> Gate | None:
    """Returns the eigenspaces of a gate, on line qubits; None if its powers do something else."""
    qubits = cirq.LineQubit.range(once.num_qubits())
    found = components(once) if len(qubits) <= _MOST_QUBITS else None
    if found is None:
        return None
    gate = Gate(tuple(qubits), found[0], found[1], Angle(0.0, (("t", 1.0),)))
    random = np.random.default_rng(len(qubits))
    return gate if all(_has_spaces(once, gate, exponent) for exponent in random.uniform(-4, 4, 2)) else None


def _has_spaces(once: cirq.Gate, gate: Gate, exponent: float) -> bool:
    matrix = acted_matrix((once**exponent)(*gate.qubits))
    return matrix is not None and _distance(gate.matrix({"t": exponent}), matrix) <= _EXACT


@lru_cache(maxsize=4096)
def _read_gate(gate: cirq.Gate) -> Gates:
    return _read(plain(gate.on(*cirq.LineQubit.range(gate.num_qubits()))))


def _power(gate: cirq.Gate) -> tuple[cirq.Gate, sympy.Expr] | None:
    """Returns a gate with the exponent 1, and its own exponent; None if this is a number, or it has other symbols.

    So all powers of a gate are checked once; and SymPy, which is slow, is not asked whether gates are equal.
    """
    if isinstance(gate, cirq.ControlledGate):
        inner = _power(gate.sub_gate) if gate.num_controls() == 1 else None
        return inner and (cirq.ControlledGate(inner[0], control_values=gate.control_values), inner[1])
    if not isinstance(gate, cirq.EigenGate) or not isinstance(gate.exponent, sympy.Basic):
        return None
    once = gate._with_exponent(1)  # noqa: SLF001  the methods that gates override to say just this
    return None if cirq.is_parameterized(once) else (once, gate.exponent)


def _read(operation: cirq.Operation) -> Gates:
    if is_its_parts(operation) and (gates := _by_parts(operation)) is not None:
        return gates
    if len(operation.qubits) <= _MOST_QUBITS and not cirq.is_parameterized(operation):
        return _by_matrix(operation)
    return _nearest(operation, _Reference.of(operation))


def _by_matrix(operation: cirq.Operation) -> Gates:
    matrix = acted_matrix(operation)
    if matrix is None:
        raise _no_decomposition(operation)
    off = float(np.abs(matrix.conj().T @ matrix - np.eye(len(matrix))).max())
    if not off <= _TOLERANCE:  # a number that is not finite too
        raise UnsupportedError(f"{in_a_line(operation)} is not unitary: U†U differs from the identity by {off:.2g}")
    return (Gate(operation.qubits, (0.0,), matrix[np.newaxis], None),)


class _Reference(NamedTuple):
    """What Cirq's simulator does to random states.

    Attributes:
        symbols: For each state, the values of the operation's symbols.
        before: The states, complex128 (2, ..., 2, 1).
        after: The states after the operation.
    """

    symbols: list[dict[str, float]]
    before: list[State]
    after: list[State]

    @classmethod
    def of(cls, operation: cirq.Operation) -> Self:
        many = len(operation.qubits)
        if many > _MOST_COMPARED:
            raise UnsupportedError(
                f"{in_a_line(operation)} is on {many} qubits, and is compared with Cirq's simulator on"
                f" {_MOST_COMPARED} at most: write it as gates on fewer qubits"
            )
        random = np.random.default_rng(many)
        names = sorted(parameter_names(operation))
        made = cls([], [], [])
        for _ in range(2 if names else 1):
            symbols = dict(zip(names, random.uniform(-4, 4, len(names)).tolist(), strict=True))
            before = _random_state(many, random)
            numbers = resolved(operation, symbols) if names else operation
            after = None if numbers is None else acted(numbers, before)
            if after is None:
                raise _no_decomposition(operation)
            made.symbols.append(symbols)
            made.before.append(before)
            made.after.append(after)
        return made

    def distance(self, gates: Gates, qubits: Sequence[cirq.Qid]) -> float:
        """Returns how far the states after these gates are from those after the operation, up to a global phase."""
        each = zip(self.symbols, self.before, self.after, strict=True)
        return max(_distance(_applied(gates, qubits, symbols, before), after) for symbols, before, after in each)


def _nearest(operation: cirq.Operation, reference: _Reference) -> Gates:
    """Returns the first way to read an operation that is exact, or the nearest one."""
    read = list[tuple[float, Gates]]()
    problem: UnsupportedError | None = None
    for way in _ways(operation):
        try:
            gates = way(operation)
        except UnsupportedError as its:
            problem = problem or its
            continue
        if gates is not None:
            read.append((reference.distance(gates, operation.qubits), gates))
            if read[-1][0] <= _EXACT:
                return gates
    if not read:
        raise problem or _no_decomposition(operation)
    distance, gates = min(read, key=lambda each: each[0])
    if not distance <= _TOLERANCE:
        raise UnsupportedError(
            f"{in_a_line(operation)} is not what it says: its decomposition differs by {distance:.2g} from what Cirq's"
            " simulator does"
        )
    return gates


def _ways(operation: cirq.Operation) -> Iterator[Callable[[cirq.Operation], Gates | None]]:
    if len(operation.qubits) <= _MOST_QUBITS:
        yield _by_components
    yield _by_parts
    if len(operation.qubits) <= _MOST_BY_MATRIX and not cirq.is_parameterized(operation):
        yield _by_the_simulator


def _by_components(operation: cirq.Operation) -> Gates | None:
    found = components(operation.gate)
    if found is None:
        return None
    eigenvalues, projectors, exponent = found
    return (Gate(operation.qubits, eigenvalues, projectors, angle_of(exponent)),)


def _by_parts(operation: cirq.Operation) -> Gates | None:
    parts = parts_of(operation)
    if parts is None:
        return None
    if others := sorted({qubit for part in parts for qubit in part.qubits} - {*operation.qubits}):
        named = ", ".join(map(str, others))
        raise UnsupportedError(f"{in_a_line(operation)} decomposes into gates on qubits that are not its own: {named}")
    return _all(parts)


def _by_the_simulator(operation: cirq.Operation) -> Gates | None:
    """Decomposes the matrix of what Cirq's simulator does."""
    matrix = acted_matrix(operation)
    parts = None if matrix is None else parts_of_matrix(operation.qubits, matrix)
    return None if parts is None else _all(parts)


def _all(operations: Iterable[cirq.Operation]) -> Gates:
    return tuple(gate for each in operations for gate in elementary(each))


def _random_state(qubits: int, random: np.random.Generator) -> State:
    real, imaginary = random.normal(size=(2, *[2] * qubits, 1))
    state = real + 1j * imaginary
    return np.asarray(state / np.linalg.norm(state))


def _applied(gates: Gates, qubits: Sequence[cirq.Qid], symbols: dict[str, float], state: State) -> State:
    place = {qubit: index for index, qubit in enumerate(qubits)}
    for gate in gates:
        axes = [place[qubit] for qubit in gate.qubits]
        many = len(axes)
        matrix = gate.matrix(symbols).reshape([2] * 2 * many)
        state = np.moveaxis(np.tensordot(matrix, state, (range(many, 2 * many), axes)), range(many), axes)
    return state


def _distance(one: State, other: State) -> float:
    overlap = np.vdot(one, other)
    phase = overlap / abs(overlap) if overlap else 1.0
    return float(np.linalg.norm(phase * one - other))


def _no_decomposition(operation: cirq.Operation) -> UnsupportedError:
    return UnsupportedError(f"{in_a_line(operation)} does not decompose into gates on one and two qubits")
