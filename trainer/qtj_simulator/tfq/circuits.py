"""Circuits as TensorFlow Quantum serialises them, divided into a structure and numbers.

Circuits of the same structure differ in numbers only, so one plan of the engine serves all of them:

* Gates on one qubit with which a circuit begins prepare a state of this qubit. It becomes two numbers, the angles of
  ry and rz, whatever the gates were. So images whose bright pixels are X gates have one structure.
* The exponent of a later gate becomes a number if the gate is a rotation (rx, ry, rz), or if it is not a multiple of
  1/2. Other exponents are part of the structure: CNOT and H stay what they are.
"""

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import atan2, pi, sqrt
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import cirq
import numpy as np
import sympy
import tensorflow_quantum as tfq
from numpy.typing import NDArray
from tensorflow_quantum.core.proto.program_pb2 import Program
from tensorflow_quantum.core.serialize.op_deserializer import qubit_from_proto

__all__ = ["Circuit", "Structure", "divided", "parsed"]

_State: TypeAlias = tuple[complex, complex]

_ZERO: _State = (1, 0)
_INVOLUTIONS: Mapping[str, Callable[[complex, complex], _State]] = {
    "XP": lambda zero, one: (one, zero),
    "YP": lambda zero, one: (-1j * one, 1j * zero),
    "ZP": lambda zero, one: (zero, -one),
    "HP": lambda zero, one: ((zero + one) / sqrt(2), (zero - one) / sqrt(2)),
    "I": lambda zero, one: (zero, one),
}
"""Gates on one qubit by their names in serialised circuits: each is its own inverse, and its powers follow from it."""
_MOST_ROUNDED = 1e-6
_NUMBER = "qtj number {}"
"""The names of the symbols that stand for numbers."""


class Structure(NamedTuple):
    """What circuits have in common.

    Attributes:
        qubits: Names of the qubits. Each begins with ry and rz of two numbers.
        rest: The gates after these, serialised, with symbols for their numbers.
        lifted: How many numbers the gates of `rest` have.
    """

    qubits: tuple[str, ...]
    rest: bytes
    lifted: int

    @property
    def numbers(self) -> list[str]:
        """Names of the symbols of all numbers."""
        return [_NUMBER.format(index) for index in range(self.lifted + 2 * len(self.qubits))]

    def circuit(self) -> cirq.Circuit:
        """Returns the circuit, with a symbol for each number.

        Raises:
            TypeError: If TensorFlow Quantum cannot read a gate.
        """
        symbols = map(sympy.Symbol, self.numbers[self.lifted :])
        begin = cirq.Circuit(
            [cirq.ry(next(symbols))(qubit), cirq.rz(next(symbols))(qubit)]
            for qubit in map(qubit_from_proto, self.qubits)
        )
        [rest] = parsed([self.rest])
        return begin + rest


class Circuit(NamedTuple):
    """One circuit.

    Attributes:
        structure: What it has in common with others.
        numbers: float64, a value for each name of `structure.numbers`.
    """

    structure: Structure
    numbers: NDArray[np.float64]


def divided(serialised: bytes, qubits: frozenset[str]) -> Circuit:
    """Reads a circuit.

    Args:
        serialised: One element of what `tfq.convert_to_tensor` returned.
        qubits: Further qubits that the circuit gets, by their names in serialised circuits.

    Returns:
        The circuit. It is equal up to a global phase.

    Raises:
        google.protobuf.message.DecodeError: If these bytes are not a circuit.
    """
    program = Program.FromString(serialised)
    rest = Program(language=program.language)
    rest.circuit.scheduling_strategy = program.circuit.scheduling_strategy
    states, numbers, entangled = dict[str, _State](), list[float](), set[str]()
    for operation in _operations(program):
        names = [qubit.id for qubit in operation.qubits]
        exponent = _exponent(operation)
        if _prepares(exponent, operation) and entangled.isdisjoint(names):
            states[names[0]] = _power(operation.gate.id, exponent, states.get(names[0], _ZERO))
            continue
        entangled.update(names, _controls(operation))
        rest.circuit.moments.add().operations.append(operation)
        if exponent is not None and _is_number(operation, exponent):
            lifted = rest.circuit.moments[-1].operations[0].args
            lifted["exponent"].symbol = _NUMBER.format(len(numbers))
            lifted["exponent_scalar"].arg_value.float_value = 1
            numbers.append(exponent)
    every = tuple(sorted(qubits | entangled | states.keys()))
    angles = [angle for name in every for angle in _angles(*states.get(name, _ZERO))]
    structure = Structure(every, rest.SerializeToString(deterministic=True), len(numbers))
    return Circuit(structure, np.array([*numbers, *angles]))


def parsed(serialised: Sequence[bytes]) -> list[Any]:
    """Returns circuits, or operators, as Cirq's objects.

    Raises:
        TypeError: If TensorFlow Quantum cannot read them.
    """
    return list(tfq.from_tensor(np.array(serialised, object)))  # NumPy's own bytes lose zeros at their end


def _operations(program: Any) -> Iterator[Any]:
    for moment in program.circuit.moments:
        yield from moment.operations


def _controls(operation: Any) -> list[str]:
    names: str = operation.args["control_qubits"].arg_value.string_value
    return names.split(",") if names else []


def _exponent(operation: Any) -> float | None:
    """Returns the exponent of a gate; None if it is a symbol, or the gate has controls or no exponent."""
    if operation.gate.id == "I":
        return 0.0
    if _controls(operation) or "exponent" not in operation.args or operation.args["exponent"].symbol:
        return None
    exponent, factor = (operation.args[name].arg_value.float_value for name in ("exponent", "exponent_scalar"))
    return float(exponent * factor)


def _prepares(exponent: float | None, operation: Any) -> TypeGuard[float]:
    """Tells whether a gate is a known one on one qubit, with a number as its exponent."""
    return operation.gate.id in _INVOLUTIONS and exponent is not None and len(operation.qubits) == 1


def _is_number(operation: Any, exponent: float) -> bool:
    is_rotation = operation.args["global_shift"].arg_value.float_value != 0
    return is_rotation or abs(2 * exponent - round(2 * exponent)) > _MOST_ROUNDED


def _power(gate: str, exponent: float, state: _State) -> _State:
    phase = cmath.exp(1j * pi * exponent)
    turned = _INVOLUTIONS[gate](*state)
    zero, one = (
        (1 + phase) / 2 * before + (1 - phase) / 2 * after for before, after in zip(state, turned, strict=True)
    )
    return zero, one


def _angles(zero: complex, one: complex) -> tuple[float, float]:
    """Returns the angles of ry and rz that prepare a state."""
    return 2 * atan2(abs(one), abs(zero)), cmath.phase(one) - cmath.phase(zero)
