"""Every gate of the Cirq that is installed, found by asking its module: a gate of a newer Cirq is in it by itself.

python -m tests.trainer.gate_menu       lists the gates, and the classes that nobody could make
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cirq
import numpy as np
import sympy

__all__ = ["channel_classes", "gate_classes", "instances", "qubit_gates"]

Random = np.random.Generator

_MOST_QUBITS = 3
_BY_HAND: dict[str, Callable[[Random], cirq.Gate]] = {
    "ControlledGate": lambda random: cirq.ControlledGate(cirq.X ** random.uniform(-2, 2)),
    "DiagonalGate": lambda random: cirq.DiagonalGate(list(random.uniform(-3, 3, 2 ** random.integers(1, 4)))),
    "ThreeQubitDiagonalGate": lambda random: cirq.ThreeQubitDiagonalGate(list(random.uniform(-3, 3, 8))),
    "TwoQubitDiagonalGate": lambda random: cirq.TwoQubitDiagonalGate(list(random.uniform(-3, 3, 4))),
    "MatrixGate": lambda random: cirq.MatrixGate(_unitary(random, int(random.integers(1, 4)))),
    "ParallelGate": lambda random: cirq.ParallelGate(cirq.Y ** random.uniform(-2, 2), int(random.integers(1, 4))),
    "IdentityGate": lambda random: cirq.IdentityGate(int(random.integers(1, 4))),
    "DensePauliString": lambda random: cirq.DensePauliString("".join(random.choice(list("IXYZ"), 3))),
    "PauliInteractionGate": lambda random: cirq.PauliInteractionGate(
        cirq.X, bool(random.integers(2)), cirq.Z, bool(random.integers(2)), exponent=random.uniform(-2, 2)
    ),
    "PauliStringPhasorGate": lambda random: cirq.PauliStringPhasorGate(
        cirq.DensePauliString("".join(random.choice(list("XYZ"), 3))), exponent_neg=random.uniform(-2, 2)
    ),
    "QubitPermutationGate": lambda random: cirq.QubitPermutationGate([int(each) for each in random.permutation(3)]),
    "BooleanHamiltonianGate": lambda random: cirq.BooleanHamiltonianGate(
        ["x0", "x1", "x2"], ["x0 & x1", "x1 ^ x2"], random.uniform(-2, 2)
    ),
    "UniformSuperpositionGate": lambda random: cirq.UniformSuperpositionGate(int(random.integers(2, 9)), 3),
    "QuantumFourierTransformGate": lambda random: cirq.QuantumFourierTransformGate(int(random.integers(1, 4))),
    "PhaseGradientGate": lambda random: cirq.PhaseGradientGate(num_qubits=2, exponent=random.uniform(-2, 2)),
    "CliffordGate": lambda _: cirq.CliffordGate.from_op_list(
        [cirq.H(cirq.LineQubit(0)), cirq.CNOT(*cirq.LineQubit.range(2))], cirq.LineQubit.range(2)
    ),
    "SingleQubitCliffordGate": lambda random: cirq.SingleQubitCliffordGate.all_single_qubit_cliffords[
        int(random.integers(24))
    ],
}
"""Gates whose arguments are no numbers. What is missing here is made with numbers, or listed as not made."""


def gate_classes() -> dict[str, type[cirq.Gate]]:
    """Every class of a gate that Cirq exports, by its name."""
    return {
        name: kind
        for name, kind in sorted(vars(cirq).items())
        if inspect.isclass(kind) and issubclass(kind, cirq.Gate) and not inspect.isabstract(kind)
    }


def instances() -> dict[str, cirq.Gate]:
    """Every gate that Cirq exports, by its name, as CNOT and SQRT_ISWAP."""
    return {name: gate for name, gate in sorted(vars(cirq).items()) if isinstance(gate, cirq.Gate)}


def qubit_gates(random: Random, symbols: Sequence[sympy.Symbol]) -> Iterator[cirq.Gate]:
    """Yields each unitary gate once, with random numbers; and with a function of symbols where it takes one."""
    made = [*instances().values(), *(_made(kind, random, None) for kind in gate_classes().values())]
    made += [_made(kind, random, lambda: _angle(random, symbols)) for kind in gate_classes().values()]
    made += [_power(gate, _angle(random, symbols)) for gate in instances().values()]
    yield from (gate for gate in made if gate is not None and _is_unitary(gate))


def channel_classes(random: Random) -> Iterator[cirq.Gate]:
    """Yields each channel on one and two qubits once."""
    for kind in gate_classes().values():
        gate = _channel(kind, random)
        if gate is not None and not _is_unitary(gate) and _is_channel(gate):
            yield gate


def _power(gate: cirq.Gate, exponent: sympy.Expr) -> cirq.Gate | None:
    try:
        return gate**exponent
    except (TypeError, ValueError):
        return None


def _angle(random: Random, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    factor, shift = random.choice([1.0, -1.0, 0.5, 1.7]), random.choice([0.0, 0.25])
    return float(factor) * symbols[random.integers(len(symbols))] + float(shift)


def _made(kind: type[cirq.Gate], random: Random, angle: Callable[[], Any] | None) -> cirq.Gate | None:
    """Makes a gate with a number for each argument that has no default, and for those that are called exponents."""
    if kind.__name__ in _BY_HAND:
        gate = _BY_HAND[kind.__name__](random)
        return gate if angle is None else _power(gate, angle())
    value = angle or (lambda: float(random.uniform(-2, 2)))
    arguments = {
        name: value()
        for name, each in inspect.signature(kind).parameters.items()
        if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}
        and (each.default is each.empty or "exponent" in name)
    }
    try:
        return kind(**arguments)
    except (TypeError, ValueError, AttributeError):
        return None


def _channel(kind: type[cirq.Gate], random: Random) -> cirq.Gate | None:
    names = [name for name, each in inspect.signature(kind).parameters.items() if each.default is each.empty]
    try:
        return kind(**{name: float(random.uniform(0, 0.3)) for name in names})
    except (TypeError, ValueError, AttributeError):
        return None


def _is_unitary(gate: cirq.Gate) -> bool:
    try:
        numbers = cirq.resolve_parameters(gate, dict.fromkeys(cirq.parameter_names(gate), 0.3))
        return bool(_fits(gate) and cirq.has_unitary(numbers))
    except (TypeError, ValueError):
        return False


def _is_channel(gate: cirq.Gate) -> bool:
    try:
        is_channel = cirq.has_kraus(gate) and not cirq.is_measurement(gate)
        return bool(is_channel and _fits(gate) and gate.num_qubits() < _MOST_QUBITS)
    except (TypeError, ValueError):
        return False


def _fits(gate: cirq.Gate) -> bool:
    return 0 < gate.num_qubits() <= _MOST_QUBITS and set(cirq.qid_shape(gate)) == {2}


def _unitary(random: Random, qubits: int) -> Any:
    return cirq.testing.random_unitary(2**qubits, random_state=int(random.integers(1 << 30)))


if __name__ == "__main__":
    drawn, with_symbol = np.random.default_rng(0), list(sympy.symbols("a b"))
    listed = list(qubit_gates(drawn, with_symbol))
    channels = [type(each).__name__ for each in channel_classes(drawn)]
    found = {type(each).__name__ for each in listed}
    print(f"Cirq {cirq.__version__}: {len(listed)} gates of {len(found)} classes; channels: {', '.join(channels)}")
    print("not made:", ", ".join(sorted(set(gate_classes()) - found - set(channels))))
