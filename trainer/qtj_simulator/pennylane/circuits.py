"""A circuit of PennyLane as gates and wires, apart from the values of its angles; what it measures, as Pauli sums."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import pi
from typing import Any, TypeAlias

import cirq
import numpy as np
import pennylane as qml
import sympy
from numpy.typing import NDArray
from pennylane.exceptions import DeviceError
from pennylane.measurements import ExpectationMP

__all__ = [
    "Circuit",
    "Form",
    "Paulis",
    "Placed",
    "Tape",
    "are_pauli_sums",
    "has_trainable_factors",
    "is_known",
    "known_gates",
    "observed",
    "read",
    "readout",
]

Array = NDArray[Any]
Tape: TypeAlias = Any
"""`pennylane.tape.QuantumScript`; PennyLane carries no types."""

Paulis: TypeAlias = tuple[tuple[float, tuple[tuple[int, str], ...]], ...]
"""An observable: factors, each with the Pauli matrices on its wires."""

_MOST_MEASURED = 4
"""Of an observable that is given by its matrix: it becomes a sum of up to 4^wires Pauli strings."""
_ROUNDING = 1e-12

_POWERS: dict[str, Callable[[Any], cirq.Gate]] = {
    "RX": lambda t: cirq.XPowGate(exponent=t, global_shift=-0.5),
    "RY": lambda t: cirq.YPowGate(exponent=t, global_shift=-0.5),
    "RZ": lambda t: cirq.ZPowGate(exponent=t, global_shift=-0.5),
    "PhaseShift": lambda t: cirq.ZPowGate(exponent=t),
    "ControlledPhaseShift": lambda t: cirq.CZPowGate(exponent=t),
    "CRX": lambda t: cirq.ControlledGate(cirq.XPowGate(exponent=t, global_shift=-0.5)),
    "CRY": lambda t: cirq.ControlledGate(cirq.YPowGate(exponent=t, global_shift=-0.5)),
    "CRZ": lambda t: cirq.ControlledGate(cirq.ZPowGate(exponent=t, global_shift=-0.5)),
    "IsingXX": lambda t: cirq.XXPowGate(exponent=t, global_shift=-0.5),
    "IsingYY": lambda t: cirq.YYPowGate(exponent=t, global_shift=-0.5),
    "IsingZZ": lambda t: cirq.ZZPowGate(exponent=t, global_shift=-0.5),
    "IsingXY": lambda t: cirq.ISwapPowGate(exponent=t),
}
"""PennyLane's gates with an angle, at t half turns of π each."""

_OTHERS = {"GlobalPhase", "Identity"}
"""They change no amplitude but for the phase of all."""

_FIXED = {"PauliX", "PauliY", "PauliZ", "Hadamard", "S", "T", "SX", "CNOT", "CY", "CZ", "CH", "SWAP", "ISWAP"}
"""Gates whose name says their matrix."""

_MOST_WIRES = 2
"""Of a gate that is given by its matrix."""

_UNITARY_WITHIN = 1e-6
"""A matrix may have been computed in complex64, as JAX does by default."""

known_gates = {*_POWERS, *_OTHERS, "CNOT"}
"""Names into which PennyLane may decompose."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A gate on wires: one with an angle, which has one value or one for each example, or else a matrix.

    Attributes:
        wires: Its wires, by number.
        name: PennyLane's name of a gate with an angle; empty for another gate.
        is_input: Whether the angle has a value for each example.
        matrix: complex128 (2^wires, 2^wires) of another gate, in bytes, which can be compared and hashed.
    """

    wires: tuple[int, ...]
    name: str = ""
    is_input: bool = False
    matrix: bytes = b""

    def on(self, symbol: sympy.Symbol) -> cirq.Operation:
        """Returns it for Cirq, with a symbol for its angle in half turns."""
        qubits = [cirq.LineQubit(wire) for wire in self.wires]
        if self.name:
            return _POWERS[self.name](symbol).on(*qubits)
        size = 2 ** len(qubits)
        matrix = np.frombuffer(self.matrix, np.complex128).reshape(size, size)
        return cirq.MatrixGate(matrix, unitary_check_atol=_UNITARY_WITHIN).on(*qubits)


@dataclass(frozen=True, slots=True)
class Form:
    """What circuits with one engine have in common: all but the values of their angles.

    Attributes:
        wires: The number of wires.
        gates: The gates, in order.
    """

    wires: int
    gates: tuple[Placed, ...]

    def circuit(self) -> cirq.Circuit:
        """Returns it for Cirq, with the symbols of its gates with an angle."""
        return cirq.Circuit(gate.on(symbol) for gate, symbol in zip(self.gates, self._symbols(), strict=True))

    def symbols(self, *, inputs: bool) -> list[sympy.Symbol]:
        """Returns the symbols whose values the examples set, or those that all examples share."""
        numbered = zip(self.gates, self._symbols(), strict=True)
        return [symbol for gate, symbol in numbered if gate.name and gate.is_input == inputs]

    def _symbols(self) -> Iterator[sympy.Symbol]:
        return (sympy.Symbol(f"t{number}") for number in range(len(self.gates)))


@dataclass(frozen=True, slots=True)
class Circuit:
    """A circuit with the values of its angles.

    Attributes:
        tape: What PennyLane gave, with wires from 0.
        form: Its gates.
        angles: Half turns, of each gate that has an angle; those with an axis are for the examples.
        places: Of each angle, its place among the parameters of the tape.
        phase: The global phase, in radians; one, or one for each example.
    """

    tape: Tape
    form: Form
    angles: tuple[Array, ...]
    places: tuple[int, ...]
    phase: Array

    @property
    def is_batched(self) -> bool:
        """Whether results have an axis for examples."""
        return self.tape.batch_size is not None

    @property
    def batch(self) -> int:
        """The number of examples; 1 if no angle has several values."""
        return int(self.tape.batch_size) if self.is_batched else 1

    def given(self) -> tuple[Array, Array]:
        """Returns the values of its symbols: of inputs, (batch, inputs), and of weights, (weights,)."""
        inputs = [angle for angle in self.angles if angle.ndim]
        weights = [angle for angle in self.angles if not angle.ndim]
        return np.array(inputs).reshape(len(inputs), self.batch).T, np.array(weights, np.float64)

    def by_parameter(self, by_inputs: Array, by_weights: Array) -> list[Array]:
        """Returns the slopes by each trainable parameter of the tape.

        Args:
            by_inputs: Slopes by half turns, (batch, inputs).
            by_weights: The same, (weights,).

        Raises:
            DeviceError: One is no angle.
        """
        rows, shared = iter(by_inputs.T), iter(by_weights)
        slopes = {
            place: np.asarray(next(rows if angle.ndim else shared)) / pi
            for place, angle in zip(self.places, self.angles, strict=True)
        }
        phases = {place for operator, place in _numbered(self.tape.operations) if operator.name == "GlobalPhase"}
        if any(place not in slopes and place not in phases for place in self.tape.trainable_params):
            raise DeviceError(
                "qtj.simulator: there are slopes by angles alone: set trainable_params of the tape to those"
            )
        parameters = self.tape.get_parameters(trainable_only=False)
        return [
            slopes[place] if place in slopes else np.zeros(np.shape(parameters[place]))
            for place in self.tape.trainable_params
        ]


def is_known(operator: Any) -> bool:
    """Whether an operator is a gate that `read` takes; PennyLane has to decompose others."""
    if operator.name in _POWERS or operator.name in _OTHERS:
        return True
    if len(operator.wires) > _MOST_WIRES or not operator.has_matrix or operator.batch_size is not None:
        return False
    if any(qml.math.requires_grad(each) or qml.math.is_abstract(each) for each in operator.data):
        return False
    return not operator.data or operator.name == "QubitUnitary" or not operator.has_decomposition


def read(tape: Tape) -> Circuit:
    """Reads a circuit of known gates."""
    tape = tape.map_to_standard_wires()
    gates, angles, places = list[Placed](), list[Array](), list[int]()
    phase = np.array(0.0)
    for operator, place in _numbered(tape.operations):
        if operator.name == "GlobalPhase":
            phase = phase - _number(operator.data[0])
        elif operator.name in _POWERS:
            angles.append(_angle(operator) / pi)
            gates.append(Placed(tuple(operator.wires), operator.name, is_input=angles[-1].ndim > 0))
            places.append(place)
        elif operator.name != "Identity":
            gates.append(Placed(tuple(operator.wires), matrix=_matrix(operator)))
    return Circuit(tape, Form(len(tape.wires), tuple(gates)), tuple(angles), tuple(places), phase)


def _number(value: Any) -> Array:
    return np.asarray(value, np.float64)


def _angle(operator: Any) -> Array:
    angle = _number(operator.data[0])
    if not np.isfinite(angle).all():
        raise DeviceError(
            f"qtj.simulator: an angle of {operator.name} on wires {operator.wires.tolist()} is not a finite number:"
            " look for what has computed it"
        )
    return angle


def _matrix(operator: Any) -> bytes:
    if operator.name in _FIXED:
        return _fixed_matrix(operator.name, len(operator.wires))
    return np.asarray(operator.matrix(), np.complex128).tobytes()


@lru_cache(maxsize=2 * len(_FIXED))
def _fixed_matrix(name: str, wires: int) -> bytes:
    """PennyLane takes as long for a matrix as for all else of a gate."""
    with qml.QueuingManager.stop_recording():
        return np.asarray(getattr(qml, name)(wires=range(wires)).matrix(), np.complex128).tobytes()


def _numbered(operators: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Yields each operator with the place of its first parameter among those of the tape."""
    place = 0
    for operator in operators:
        yield operator, place
        place += len(operator.data)


def observed(tape: Any) -> tuple[Paulis, ...] | None:
    """Returns what a circuit with wires from 0 measures, as Pauli sums; None if not `are_pauli_sums`.

    Raises:
        DeviceError: An observable is not Hermitian.
    """
    if not are_pauli_sums(tape):
        return None
    return tuple(_paulis(measurement.obs) for measurement in tape.measurements)


def are_pauli_sums(tape: Any) -> bool:
    """Whether a circuit, with any labels of wires, measures expectation values of such sums alone."""
    return all(_is_pauli_sum(measurement) for measurement in tape.measurements)


def has_trainable_factors(tape: Any) -> bool:
    """Whether a slope by a number within an observable is asked for."""
    return any(qml.math.requires_grad(number) for each in tape.measurements if each.obs for number in each.obs.data)


def readout(paulis: Paulis) -> cirq.PauliSum:
    """Returns an observable for Cirq, on line qubits."""
    return sum(
        (
            cirq.PauliString({cirq.LineQubit(wire): pauli for wire, pauli in word}, coefficient=factor)
            for factor, word in paulis
        ),
        start=cirq.PauliSum(),
    )


def _is_pauli_sum(measurement: Any) -> bool:
    if not isinstance(measurement, ExpectationMP) or measurement.obs is None:
        return False
    by_matrix = len(measurement.obs.wires) <= _MOST_MEASURED and measurement.obs.has_matrix
    return measurement.obs.pauli_rep is not None or by_matrix


def _paulis(observable: Any) -> Paulis:
    words = observable.pauli_rep
    if words is None:
        words = qml.pauli_decompose(observable.matrix(), wire_order=observable.wires, pauli=True)
    terms = [(complex(qml.math.toarray(factor)), tuple(sorted(word.items()))) for word, factor in words.items()]
    if any(abs(factor.imag) > _ROUNDING * abs(factor) for factor, _ in terms):
        raise DeviceError(f"qtj.simulator: {observable} is not Hermitian: give real factors to its Pauli strings")
    return tuple((factor.real, paulis) for factor, paulis in terms)
