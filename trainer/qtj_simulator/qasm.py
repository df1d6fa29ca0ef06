"""Exports a circuit as a program in OpenQASM 3. Its inputs are the free symbols of the circuit.

Cirq's export has no symbols, uses a gate that `stdgates.inc` does not have (sxdg, in Cirq 1.5), and needs nine
gates or more for ZZ**t and similar gates. Here an exponent may be a linear function of symbols, as in the fused engine.

Cross et al., "OpenQASM 3: a broader and deeper quantum assembly language" (2021), arXiv:2104.14722.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import isclose, pi
from typing import Any

import cirq
import sympy

from qtj_simulator.operations import acted_matrix, parts_of, plain
from qtj_simulator.specification import Readout, real_coefficient

__all__ = ["to_qasm"]

_HALF_TURNS = "half_turns"
"""The format in which Cirq's gates write an exponent t as the angle pi*t."""

_DIGITS = 17
"""Significant digits of a number that Cirq writes: all that a double has."""

_PLAIN = re.compile(r"[A-Za-z]+_?\d+(_\d+)*")
_RESERVED = frozenset({"u1", "u2", "u3"})
"""Names of that form that stdgates.inc uses for gates."""

_Turn = tuple[cirq.Gate, cirq.Gate]
_X: _Turn = (cirq.H, cirq.H)
_Y: _Turn = (cirq.rx(pi / 2), cirq.rx(-pi / 2))
_EIGENBASES: dict[type[cirq.Gate], _Turn | None] = {
    cirq.XPowGate: _X,
    cirq.YPowGate: _Y,
    cirq.ZPowGate: None,
    cirq.HPowGate: (cirq.ry(-pi / 4), cirq.ry(pi / 4)),
    cirq.XXPowGate: _X,
    cirq.YYPowGate: _Y,
    cirq.ZZPowGate: None,
}
"""Gates that map the eigenvectors of a gate to those of Z, or of ZZ, and back."""


def to_qasm(circuit: cirq.AbstractCircuit, readouts: Sequence[Readout], inputs: Sequence[sympy.Symbol]) -> str:
    """Writes a circuit and, as comments, its readouts.

    Args:
        circuit: A unitary circuit. Its qubits become q[0], q[1], ... in Cirq's order.
        readouts: The observables.
        inputs: The symbols of the circuit.

    Returns:
        The program. An input has the name of its symbol if that is letters and a number, as in turn0; otherwise its
        name is input_0, input_1, ... by its position. The program is the same unitary up to a global phase.

    Raises:
        ValueError: If a gate cannot be written.
    """
    names = {symbol: _name(symbol, place) for place, symbol in enumerate(inputs)}
    qubits = sorted({*circuit.all_qubits(), *(qubit for readout in readouts for qubit in readout.qubits)})
    wires = {qubit: f"q[{place}]" for place, qubit in enumerate(qubits)}
    arguments = _Arguments(names, wires)
    return "\n".join(
        [
            "OPENQASM 3.0;",
            'include "stdgates.inc";',
            *(f"// {wire} is the qubit {_on_a_line(qubit)}" for qubit, wire in wires.items()),
            *(f"// readout {place}: {_observable(each, wires)}" for place, each in enumerate(readouts)),
            *(f"input float[64] {name};  // {_on_a_line(symbol)}" for symbol, name in names.items()),
            f"qubit[{len(qubits)}] q;",
            *(_statement(part, arguments) for each in circuit.all_operations() for part in _parts(each, arguments)),
            "",
        ]
    )


class _Arguments(cirq.QasmArgs):  # type: ignore[misc]  # mypy does not follow Cirq
    """Formats arguments as Cirq does, and also linear functions of symbols."""

    def __init__(self, names: Mapping[sympy.Symbol, str], wires: dict[cirq.Qid, str]) -> None:
        super().__init__(precision=_DIGITS, version="3.0", qubit_id_map=wires)
        self._names = names

    def format_field(self, value: Any, spec: str) -> str:
        """Writes one argument of a gate.

        Raises:
            ValueError: If it is not a linear function of symbols.
        """
        if not isinstance(value, sympy.Basic):
            text: str = super().format_field(value, spec)
            return text
        factor = pi if spec == _HALF_TURNS else 1.0
        return _linear(value, self._names, factor)


def _linear(value: sympy.Expr, names: Mapping[sympy.Symbol, str], factor: float) -> str:
    """Writes a linear function times a factor."""
    if not value.free_symbols:
        return repr(factor * float(value))
    polynomial = sympy.Poly(value, *sorted(value.free_symbols, key=str))
    if polynomial.total_degree() > 1:
        raise ValueError(f"{value} is not a linear function of its symbols")
    terms = [(factor * float(slope), _unit(powers, polynomial.gens)) for powers, slope in polynomial.terms()]
    return " + ".join(_term(slope, names.get(symbol)) for slope, symbol in terms)


def _unit(powers: tuple[int, ...], symbols: Sequence[sympy.Symbol]) -> sympy.Symbol | None:
    return next((symbol for power, symbol in zip(powers, symbols, strict=True) if power), None)


def _term(slope: float, name: str | None) -> str:
    if name is None:
        return repr(slope)
    return name if isclose(slope, 1, rel_tol=1e-15) else f"{slope!r}*{name}"


def _parts(operation: cirq.Operation, arguments: _Arguments) -> Iterator[cirq.Operation]:
    """Decomposes an operation to gates that can be written."""

    def is_written(each: cirq.Operation) -> bool:
        if not each.qubits:  # a global phase, which changes no expectation value
            return True
        return _shorter(each) is None and cirq.qasm(each, args=arguments, default=None) is not None

    def stuck(each: cirq.Operation) -> Exception:
        return ValueError(f"{_on_a_line(each)} cannot be written in OpenQASM")

    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # Cirq 1.5 warns of its own code
        parts: list[cirq.Operation] = cirq.decompose(
            operation,
            keep=is_written,
            intercepting_decomposer=lambda each: _shorter(each) or _in_order(each),
            fallback_decomposer=_by_matrix,
            on_stuck_raise=stuck,
        )
    return (part for part in parts if part.qubits)


def _shorter(operation: cirq.Operation) -> list[cirq.Operation] | None:
    """Decomposes powers of two-qubit gates to CNOTs and rotations, and X**-0.5 to a gate that all readers have."""
    gate, qubits = operation.gate, operation.qubits
    match gate:
        case cirq.XPowGate(exponent=-0.5) if not isinstance(gate, cirq.Rx):  # Cirq would write sxdg
            return [cirq.rx(-pi / 2)(*qubits)]
        case cirq.XXPowGate() | cirq.YYPowGate() | cirq.ZZPowGate():
            return _turned(gate, qubits, _parity(gate.exponent, *qubits))
        case cirq.CZPowGate() if gate.exponent != 1:
            half = gate.exponent / 2
            return [*(cirq.Z(qubit) ** half for qubit in qubits), *_parity(-half, *qubits)]
        case cirq.ControlledGate() if cirq.is_parameterized(gate):
            return _controlled(gate, *qubits)
    return _by_matrix(operation) if isinstance(gate, cirq.MatrixGate) else None  # Cirq's own decomposition is inexact


def _in_order(operation: cirq.Operation) -> list[cirq.Operation] | None:
    """Decomposes a gate on line qubits in order, because Cirq's decompositions on other qubits may be wrong."""
    gate, qubits = operation.gate, operation.qubits
    if gate is None or len(qubits) <= 2:
        return None
    line = cirq.LineQubit.range(len(qubits))
    parts = parts_of(gate(*line))
    return None if parts is None else [part.transform_qubits(dict(zip(line, qubits, strict=True))) for part in parts]


def _parity(exponent: Any, first: cirq.Qid, second: cirq.Qid) -> list[cirq.Operation]:
    """Returns ZZ**exponent."""
    bond = cirq.CNOT(first, second)
    return [bond, cirq.Z(second) ** exponent, bond]


def _turned(gate: cirq.Gate, qubits: Sequence[cirq.Qid], inner: list[cirq.Operation]) -> list[cirq.Operation]:
    """Returns operations in the eigenbasis of a gate."""
    turn = next(turn for kind, turn in _EIGENBASES.items() if isinstance(gate, kind))
    return [*turn[0].on_each(*qubits), *inner, *turn[1].on_each(*qubits)] if turn else inner


def _controlled(gate: cirq.ControlledGate, control: cirq.Qid, *targets: cirq.Qid) -> list[cirq.Operation] | None:
    """Returns a controlled power of X, Y, Z or H with one control qubit: CZ**t in the eigenbasis of the gate."""
    power, values = gate.sub_gate, list(gate.control_values.expand())
    is_power = any(isinstance(power, kind) for kind in _EIGENBASES)
    if len(targets) > 1 or not is_power or values not in ([(0,)], [(1,)]):
        return None
    phase = cirq.Z(control) ** (power.global_shift * power.exponent)
    both = [*_turned(power, targets, [cirq.CZ(control, *targets) ** power.exponent]), phase]
    flip = [cirq.X(control)] if values == [(0,)] else []
    return [*flip, *both, *flip]


def _by_matrix(operation: cirq.Operation) -> list[cirq.Operation] | None:
    matrix = acted_matrix(plain(operation))
    match operation.qubits:
        case (qubit,) if matrix is not None:
            return [gate(qubit) for gate in cirq.single_qubit_matrix_to_gates(matrix)]
        case (first, second) if matrix is not None:
            return list(cirq.two_qubit_matrix_to_cz_operations(first, second, matrix, allow_partial_czs=False))
    return None


def _statement(operation: cirq.Operation, arguments: _Arguments) -> str:
    written: str = cirq.qasm(operation, args=arguments)
    return written.rstrip("\n")


def _name(symbol: sympy.Symbol, place: int) -> str:
    name = symbol.name
    return (
        name if _PLAIN.fullmatch(name) and name not in _RESERVED and not name.startswith("input_") else f"input_{place}"
    )


def _observable(readout: Readout, wires: Mapping[cirq.Qid, str]) -> str:
    strings = readout if isinstance(readout, cirq.PauliSum) else [readout]
    return " + ".join(_string(each, wires) for each in strings)


def _string(string: cirq.PauliString, wires: Mapping[cirq.Qid, str]) -> str:
    paulis = [f"{pauli} {wires[qubit]}" for qubit, pauli in sorted(string.items())]
    return " ".join([repr(real_coefficient(string)), *paulis])


def _on_a_line(thing: object) -> str:
    return " ".join(str(thing).split())
