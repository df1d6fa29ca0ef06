"""What the noisy layer cannot do is refused with one sentence."""

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


def damped(**options: Any) -> NoisyPQC:
    return NoisyPQC(DAMPED, cirq.Z(FIRST), **options)


@pytest.mark.parametrize(
    ("circuit", "message"),
    [
        (noisy(Unlikely(1.2, -0.2)), "the channel unlikely(q(0)) has the probability -0.2: give 0 to 1"),
        (noisy(Unlikely(0.5, 0.2)), "the probabilities of the channel unlikely(q(0)) add up to 0.7, not to 1"),
        (
            noisy(cirq.KrausChannel([np.eye(2), 0.5 * np.eye(2)])),
            "does not preserve the trace: the sum of K†K over its Kraus operators K differs from the identity by 0.25",
        ),
        (noisy(cirq.KrausChannel([np.full((2, 2), np.nan)])), "does not preserve the trace"),
        (noisy(cirq.depolarize(0.1, n_qubits=3)), "is on 3 qubits: two are the most"),
        (CIRCUIT + cirq.Circuit(cirq.measure(FIRST)), "remove measurements, because readouts are what is measured"),
    ],
    ids=["negative", "sum", "trace", "nan", "qubits", "measurement"],
)
def test_what_is_not_a_channel_is_refused(circuit: cirq.Circuit, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as problem:
        NoisyPQC(circuit, cirq.Z(FIRST))

    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_gate_that_does_not_decompose_is_refused() -> None:
    line, angle = cirq.LineQubit.range(3), sympy.Symbol("a")
    turned = cirq.rx(angle)(line[2]).controlled_by(*line[:2])

    with pytest.raises(ValueError, match=r"^the fused engine does not simulate the noisy circuit: CC.* decompose"):
        NoisyPQC(cirq.Circuit(turned), cirq.Z(FIRST), weights=[angle])


def test_a_channel_with_symbols_is_refused() -> None:
    channel = cirq.PhasedXPowGate(phase_exponent=sympy.Symbol("a")).with_probability(0.5)

    with pytest.raises(ValueError, match="has symbols: give it numbers"):
        NoisyPQC(cirq.Circuit(channel(FIRST)), cirq.Z(FIRST), weights=["a"])


@pytest.mark.parametrize("name", ["shots", "trajectories"])
@pytest.mark.parametrize("number", [0, -3])
def test_fewer_than_one_is_refused(name: str, number: int) -> None:
    with pytest.raises(ValueError, match=f"^{name} is {number}: give a whole number from 1$"):
        damped(**{name: number})


@pytest.mark.parametrize("name", ["shots", "trajectories"])
@pytest.mark.parametrize("number", [1.5, "10", True])
def test_what_is_not_a_whole_number_is_refused(name: str, number: object) -> None:
    with pytest.raises(TypeError, match=f"^{name} is {number!r}: give a whole number from 1$"):
        damped(**{name: number})


def test_a_shot_of_a_noisy_circuit_is_a_trajectory() -> None:
    with pytest.raises(ValueError, match=r"^shots is 10 and trajectories is 20: give one of them"):
        NoisyPQC(DAMPED, cirq.Z(FIRST), shots=10, trajectories=20)


def test_noise_on_other_qubits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the noise acts on qubits that are not in the circuit: q\(9\)$"):
        NoisyPQC(CIRCUIT, cirq.Z(FIRST), noise=Elsewhere())


@pytest.mark.parametrize("noise", [0.1, cirq.CNOT, "depolarize"])
def test_noise_of_another_type_is_refused(noise: object) -> None:
    with pytest.raises(TypeError, match=r"give a cirq.NoiseModel, or a channel on one qubit"):
        NoisyPQC(CIRCUIT, cirq.Z(FIRST), noise=noise)


def test_too_many_qubits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^25 qubits are too many for trajectories: 24 are the most$"):
        NoisyPQC(cirq.Circuit(cirq.X.on_each(*cirq.LineQubit.range(25))), cirq.Z(FIRST))


def test_the_layer_without_noise_names_the_one_with_it() -> None:
    with pytest.raises(ValueError, match="use NoisyPQC for noise and resets"):
        PQC(DAMPED, cirq.Z(FIRST))
