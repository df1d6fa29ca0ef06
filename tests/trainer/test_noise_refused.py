"""What the noisy layer cannot do is refused with one sentence."""

import re
from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qtj_simulator import PQC, NoisyPQC

FIRST, SECOND = cirq.LineQubit.range(2)
CIRCUIT = cirq.Circuit(cirq.H(FIRST), cirq.CNOT(FIRST, SECOND))
DAMPED = CIRCUIT + cirq.Circuit(cirq.amplitude_damp(0.1)(FIRST))


class Unlikely(cirq.Gate):  # type: ignore[misc]  # Cirq is not followed
    """A mixture that Cirq does not check."""

    def __init__(self, *probabilities: float) -> None:
        self.probabilities = probabilities

    def _num_qubits_(self) -> int:
        return 1

    def _mixture_(self) -> tuple[tuple[float, Any], ...]:
        return tuple(zip(self.probabilities, (np.eye(2), cirq.unitary(cirq.X)), strict=True))

    def __str__(self) -> str:
        return "unlikely"


class Elsewhere(cirq.NoiseModel):  # type: ignore[misc]
    """Noise on a qubit that no circuit has."""

    def noisy_operation(self, operation: cirq.Operation) -> list[cirq.Operation]:
        return [operation, cirq.bit_flip(0.1)(cirq.LineQubit(9))]


def noisy(channel: cirq.Gate) -> cirq.Circuit:
    return CIRCUIT + cirq.Circuit(channel(*cirq.LineQubit.range(channel.num_qubits())))


SYMBOLIC = cirq.PhasedXPowGate(phase_exponent=sympy.Symbol("a"))
TURNED = cirq.rx(sympy.Symbol("a"))(cirq.LineQubit(2)).controlled_by(FIRST, SECOND)
WIDE = cirq.Circuit(cirq.X.on_each(*cirq.LineQubit.range(25)))
REFUSED: dict[str, tuple[cirq.Circuit, dict[str, Any], str]] = {
    "negative": (noisy(Unlikely(1.2, -0.2)), {}, "the channel unlikely(q(0)) has the probability -0.2: give 0 to 1"),
    "sum": (noisy(Unlikely(0.5, 0.2)), {}, "the probabilities of the channel unlikely(q(0)) add up to 0.7, not to 1"),
    "trace": (
        noisy(cirq.KrausChannel([np.eye(2), 0.5 * np.eye(2)])),
        {},
        "does not preserve the trace: the sum of K†K over its Kraus operators K differs from the identity by 0.25",
    ),
    "nan": (noisy(cirq.KrausChannel([np.full((2, 2), np.nan)])), {}, "does not preserve the trace"),
    "qubits": (noisy(cirq.depolarize(0.1, n_qubits=3)), {}, "is on 3 qubits: two are the most"),
    "measurement": (
        CIRCUIT + cirq.Circuit(cirq.measure(FIRST)),
        {},
        "remove measurements, because readouts are what is measured",
    ),
    "no decomposition": (
        cirq.Circuit(TURNED),
        {"weights": ["a"]},
        "the fused engine does not simulate the noisy circuit: CCRx",
    ),
    "symbols": (
        cirq.Circuit(SYMBOLIC.with_probability(0.5)(FIRST)),
        {"weights": ["a"]},
        "has symbols: give it numbers",
    ),
    "both": (DAMPED, {"shots": 10, "trajectories": 20}, "shots is 10 and trajectories is 20: give one of them"),
    "other qubits": (
        CIRCUIT,
        {"noise": Elsewhere()},
        "the noise acts on qubits that are not in the circuit: q(9)",
    ),
    "too many qubits": (WIDE, {}, "25 qubits are too many for trajectories: 24 are the most"),
    **{
        f"{name} {number}": (DAMPED, {name: number}, f"{name} is {number}: give a whole number from 1")
        for name in ("shots", "trajectories")
        for number in (0, -3)
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_cannot_do_is_refused(what: str) -> None:
    circuit, options, message = REFUSED[what]

    with pytest.raises(ValueError, match=re.escape(message)) as problem:
        NoisyPQC(circuit, cirq.Z(FIRST), **options)

    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        *((name, value, f"{name} is {value!r}: give a whole number") for name in ("shots", "trajectories")
          for value in (1.5, "10", True)),
        *(("noise", value, "give a cirq.NoiseModel, or a channel on one qubit")
          for value in (0.1, cirq.CNOT, "depolarize")),
    ],
)  # fmt: skip
def test_an_option_of_another_type_is_refused(option: str, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        NoisyPQC(DAMPED, cirq.Z(FIRST), **{option: value})


def test_the_layer_without_noise_names_the_one_with_it() -> None:
    with pytest.raises(ValueError, match="use NoisyPQC for noise and resets"):
        PQC(DAMPED, cirq.Z(FIRST))
