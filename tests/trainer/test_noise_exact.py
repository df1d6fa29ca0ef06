"""Trajectories agree with Cirq's density matrices, for every kind of channel, and a wrong channel is noticed."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf

from qtj_simulator import NoisyPQC
from qtj_simulator.noise import circuit as noisy
from qtj_simulator.noise.channels import Channel, channel_of
from tests.trainer.noisy_circuits import CHANNELS, deviation, exact_values, random_circuit

ONE_EXAMPLE = tf.zeros((1, 0))
STANDARD_ERRORS = 5
PAIR = cirq.LineQubit.range(2)
MIXED = cirq.Circuit(cirq.ry(0.9)(PAIR[0]), cirq.rx(0.7)(PAIR[1]), cirq.CNOT(*PAIR), cirq.ry(0.4)(PAIR[1]))
READOUTS = [cirq.Z(PAIR[0]), cirq.X(PAIR[0]), cirq.Y(PAIR[1]) * cirq.X(PAIR[0]), cirq.Z(PAIR[1]) + 0.5]


@pytest.mark.parametrize("seed", range(8))
def test_values_are_within_five_standard_errors_of_the_density_matrix(seed: int) -> None:
    circuit, readouts = random_circuit(seed)

    estimate = NoisyPQC(circuit, readouts, trajectories=2000, seed=seed).estimate(ONE_EXAMPLE)

    assert deviation(estimate, exact_values(circuit, readouts)) < STANDARD_ERRORS


@pytest.mark.parametrize("channel", CHANNELS, ids=str)
@pytest.mark.parametrize("sampled", [{"trajectories": 4000}, {"shots": 4000}], ids=["trajectories", "shots"])
def test_each_channel_does_what_cirq_has_it_do(channel: cirq.Gate, sampled: dict[str, Any]) -> None:
    circuit = MIXED + cirq.Circuit(channel(*PAIR[: channel.num_qubits()]), cirq.CZ(*PAIR) ** 0.5)

    estimate = NoisyPQC(circuit, READOUTS, seed=3, **sampled).estimate(ONE_EXAMPLE)

    assert deviation(estimate, exact_values(circuit, READOUTS)) < STANDARD_ERRORS


def test_a_gate_that_does_not_name_its_symbols_is_no_channel() -> None:
    """Cirq 1.5 forgets those of PhasedFSimGate."""
    gate = cirq.PhasedFSimGate(0.3, zeta=sympy.Symbol("c"), phi=0.2)
    layer = NoisyPQC(MIXED + gate(*PAIR) + cirq.ry(0.3)(PAIR[0]), READOUTS, inputs=["c"])

    found = layer.estimate(tf.constant([[0.6]]))

    circuit = MIXED + cirq.PhasedFSimGate(0.3, zeta=0.6, phi=0.2)(*PAIR) + cirq.ry(0.3)(PAIR[0])
    np.testing.assert_allclose(found.values[0], exact_values(circuit, READOUTS), atol=1e-5)


@pytest.mark.parametrize(
    "number", [index for index, channel in enumerate(CHANNELS) if cirq.mixture(channel, None) is None]
)
def test_a_wrong_kraus_operator_is_noticed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = CHANNELS[number]
    circuit = MIXED + cirq.Circuit(channel(*PAIR[: channel.num_qubits()]), cirq.CZ(*PAIR) ** 0.5)

    def first_operator_twice(operation: cirq.Operation) -> Channel:
        right = channel_of(operation)
        return Channel(right.qubits, None, right.matrices[[0, 0]] / np.sqrt(2))

    monkeypatch.setattr(noisy, "channel_of", first_operator_twice)
    estimate = NoisyPQC(circuit, READOUTS, seed=3, trajectories=4000).estimate(ONE_EXAMPLE)

    assert not deviation(estimate, exact_values(circuit, READOUTS)) < STANDARD_ERRORS


def test_few_branches_are_all_simulated_and_exact() -> None:
    circuit = MIXED + cirq.Circuit(cirq.bit_flip(0.1).on_each(*PAIR), cirq.depolarize(0.2)(PAIR[0]), cirq.H(PAIR[1]))

    layer = NoisyPQC(circuit, READOUTS)
    estimate = layer.estimate(ONE_EXAMPLE)

    np.testing.assert_allclose(estimate.values[0], exact_values(circuit, READOUTS), atol=1e-5)
    assert (layer.is_random, float(tf.reduce_max(estimate.variances))) == (False, 0.0)


def test_more_branches_than_trajectories_are_sampled() -> None:
    circuit = MIXED + cirq.Circuit(cirq.depolarize(0.2).on_each(*PAIR), cirq.H(PAIR[1]))

    assert [NoisyPQC(circuit, READOUTS, trajectories=many).is_random for many in (15, 16)] == [True, False]


@pytest.mark.parametrize(
    "noise",
    [
        cirq.depolarize(0.1),
        cirq.ConstantQubitNoiseModel(cirq.amplitude_damp(0.2)),
        cirq.devices.InsertionNoiseModel(
            {cirq.OpIdentifier(cirq.CXPowGate): cirq.amplitude_damp(0.4)(PAIR[1])}, require_physical_tag=False
        ),
    ],
    ids=["gate", "constant", "insertion"],
)
def test_a_noise_model_adds_to_the_channels_of_the_circuit(noise: Any) -> None:
    circuit = MIXED + cirq.Circuit(cirq.amplitude_damp(0.3)(PAIR[0]), cirq.H(PAIR[1]))

    estimate = NoisyPQC(circuit, READOUTS, noise=noise, trajectories=4000).estimate(ONE_EXAMPLE)

    assert deviation(estimate, exact_values(circuit, READOUTS, noise)) < STANDARD_ERRORS
    assert deviation(estimate, exact_values(circuit, READOUTS)) > STANDARD_ERRORS


def test_a_readout_on_an_idle_qubit_is_measured() -> None:
    lonely = cirq.LineQubit(7)
    circuit = cirq.Circuit(cirq.X(PAIR[0]), cirq.amplitude_damp(1.0)(PAIR[0]))

    values = NoisyPQC(circuit, [cirq.Z(PAIR[0]), cirq.Z(lonely)], trajectories=20)(ONE_EXAMPLE)

    np.testing.assert_allclose(values, [[1.0, 1.0]], atol=1e-6)


def test_a_circuit_without_gates_or_channels_has_values() -> None:
    flips, nothing = cirq.Circuit(cirq.bit_flip(0.25)(PAIR[0])), cirq.Circuit(cirq.I(PAIR[0]))

    values = [NoisyPQC(circuit, [cirq.Z(PAIR[0])])(ONE_EXAMPLE) for circuit in (flips, nothing)]

    np.testing.assert_allclose(tf.concat(values, 0), [[0.5], [1.0]], atol=1e-6)
