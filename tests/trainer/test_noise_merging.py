"""Channels that become one, gates that go before a channel, and what no readout notices: values are those of Cirq."""

from itertools import chain, combinations, permutations, product
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
from numpy.typing import NDArray

from qtj_simulator import NoisyPQC
from qtj_simulator.fused.reading import elementary
from qtj_simulator.noise.channels import Channel, channel_of, commute, composed
from qtj_simulator.noise.circuit import noisy_circuit
from tests.trainer.noisy_circuits import deviation, exact_values

FIRST, SECOND = cirq.LineQubit.range(2)
ANGLE = sympy.Symbol("a")
READOUTS: list[Any] = [cirq.Z(FIRST), cirq.X(FIRST) * cirq.Y(SECOND), cirq.Y(FIRST), cirq.X(SECOND)]
PREPARED = [cirq.ry(0.9)(FIRST), cirq.rx(0.7)(SECOND), cirq.CNOT(FIRST, SECOND)]
DAMPED, DEPOLARIZED = cirq.amplitude_damp(0.3), cirq.depolarize(0.2)


def channel(gate: cirq.Gate) -> Channel:
    return channel_of(gate(FIRST))


def superoperator(of: Channel) -> NDArray[np.complex128]:
    weights = np.ones(len(of.matrices)) if of.probabilities is None else of.probabilities
    return np.asarray(sum(weight * np.kron(k, k.conj()) for weight, k in zip(weights, of.matrices, strict=True)))


@pytest.mark.parametrize(
    ("first", "second", "branches"),
    [
        (cirq.depolarize(0.1), cirq.depolarize(0.2), 4),
        (cirq.depolarize(0.1), cirq.bit_flip(0.2), 4),
        (cirq.bit_flip(0.9), cirq.bit_flip(0.8), 2),
        (cirq.bit_flip(1.0), cirq.bit_flip(1.0), 1),
        (cirq.amplitude_damp(0.1), cirq.amplitude_damp(0.4), 2),
        (cirq.amplitude_damp(0.0), cirq.amplitude_damp(1.0), 2),
        (cirq.phase_damp(0.1), cirq.phase_damp(0.2), 2),
        (cirq.reset(FIRST).gate, cirq.reset(FIRST).gate, 2),
    ],
    ids=str,
)
def test_two_channels_become_one_that_does_what_both_do(first: cirq.Gate, second: cirq.Gate, branches: int) -> None:
    both = composed(channel(first), channel(second))

    assert both is not None
    assert len(both.matrices) == branches
    expected = superoperator(channel(second)) @ superoperator(channel(first))
    np.testing.assert_allclose(superoperator(both), expected, atol=1e-12)
    assert (both.probabilities is None) == (cirq.mixture(first, None) is None)


@pytest.mark.parametrize(
    ("first", "second"),
    [(DAMPED, DEPOLARIZED), (cirq.bit_flip(0.1), cirq.phase_flip(0.1)), (DAMPED, cirq.bit_flip(0.1))],
)
def test_two_channels_with_more_branches_together_stay_apart(first: cirq.Gate, second: cirq.Gate) -> None:
    assert composed(channel(first), channel(second)) is None


@pytest.mark.parametrize("turned", ["fixed", "angle", "symbol"])
@pytest.mark.parametrize(
    ("noise", "about"),
    [
        (DEPOLARIZED, "XYZ"),
        (DAMPED, "Z"),
        (cirq.generalized_amplitude_damp(0.6, 0.3), "Z"),
        (cirq.phase_damp(0.3), "Z"),
        (cirq.phase_flip(0.1), "Z"),
        (cirq.bit_flip(0.1), "X"),
    ],
    ids=str,
)
def test_a_channel_commutes_with_rotations_about_its_axis(noise: cirq.Gate, about: str, turned: str) -> None:
    found = ""
    for name, pauli in (("X", cirq.X), ("Y", cirq.Y), ("Z", cirq.Z)):
        power = pauli ** {"fixed": 0.3, "angle": 0.3, "symbol": 2 * ANGLE + 0.1}[turned]
        gate: Any = cirq.MatrixGate(cirq.unitary(power)) if turned == "fixed" else power
        [elements] = elementary(gate(FIRST))
        found += name * commute(channel(noise), elements)

    assert found == about


def test_the_most_likely_branch_is_the_first() -> None:
    flips, damped = channel(cirq.bit_flip(0.9)), channel(cirq.KrausChannel(cirq.kraus(DAMPED)[::-1]))

    assert flips.probabilities is not None
    np.testing.assert_allclose(flips.probabilities, [0.9, 0.1])
    np.testing.assert_allclose(flips.matrices[0], cirq.unitary(cirq.X))
    np.testing.assert_allclose(damped.matrices, cirq.kraus(DAMPED))


def shape_of(*operations: Any, readouts: Any = READOUTS) -> tuple[int, int]:
    circuit = noisy_circuit(cirq.Circuit(operations), tuple(readouts))
    return len(circuit.blocks), len(circuit.channels)


def test_depolarized_rotations_are_one_block_and_one_channel_for_each_qubit() -> None:
    turned = [[cirq.rx(ANGLE).on_each(FIRST, SECOND), DEPOLARIZED.on_each(FIRST, SECOND), cirq.rz(0.3)(FIRST)]] * 3

    assert shape_of(PREPARED, turned) == (1, 2)
    assert shape_of(PREPARED, turned, cirq.CZ(FIRST, SECOND)) == (2, 2)


def test_damping_lets_only_rotations_about_z_pass() -> None:
    damped = DAMPED(FIRST)

    assert shape_of(PREPARED, damped, cirq.rz(ANGLE)(FIRST), damped) == (1, 1)
    assert shape_of(PREPARED, damped, cirq.rx(ANGLE)(FIRST), damped) == (2, 2)
    assert shape_of(PREPARED, damped, cirq.CZ(FIRST, SECOND), damped) == (2, 2)


def test_a_channel_on_two_qubits_keeps_its_place() -> None:
    both = cirq.depolarize(0.2, n_qubits=2)(FIRST, SECOND)

    assert shape_of(PREPARED, DAMPED(FIRST), both, DAMPED(FIRST)) == (1, 3)


def test_what_no_readout_notices_is_left_out() -> None:
    third = cirq.LineQubit(2)
    both = cirq.depolarize(0.1, n_qubits=2)(SECOND, third)
    unnoticed = [cirq.CNOT(SECOND, third), DEPOLARIZED.on_each(SECOND, third), both]

    assert shape_of(PREPARED, DAMPED(FIRST), unnoticed, readouts=[cirq.Z(FIRST)]) == (1, 1)
    assert shape_of(PREPARED, DAMPED(FIRST), unnoticed, readouts=[cirq.Z(third)]) == (2, 3)
    assert shape_of(PREPARED, DAMPED(FIRST), unnoticed, readouts=[cirq.Z(cirq.LineQubit(5))]) == (0, 0)


ORDERS: dict[str, list[Any]] = {
    "gates pass": [DEPOLARIZED(FIRST), cirq.rx(0.4)(FIRST), cirq.H(FIRST), DEPOLARIZED(FIRST), cirq.rz(0.3)(FIRST)],
    "gates stay": [cirq.bit_flip(0.3)(FIRST), cirq.ry(0.7)(FIRST), cirq.bit_flip(0.2)(FIRST), cirq.rx(0.3)(FIRST)],
    "then two qubits": [cirq.bit_flip(0.3)(SECOND), cirq.rx(0.7)(SECOND), cirq.CZ(FIRST, SECOND), cirq.ry(0.4)(SECOND)],
    "likely flips": [cirq.bit_flip(0.9)(FIRST), cirq.ry(0.4)(FIRST), cirq.bit_flip(1)(SECOND), cirq.bit_flip(0)(FIRST)],
    "noise on one of the two": [cirq.CZ(FIRST, SECOND) ** 0.3, cirq.phase_flip(0.2)(SECOND), cirq.ry(0.3)(FIRST),
                                cirq.CNOT(SECOND, FIRST), cirq.phase_flip(0.2)(SECOND), cirq.rx(0.3)(SECOND)],
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_values_are_exact_in_any_order(order: str) -> None:
    circuit = cirq.Circuit(PREPARED, ORDERS[order], cirq.ISWAP(FIRST, SECOND) ** 0.3)

    layer = NoisyPQC(circuit, READOUTS)

    assert not layer.is_random
    np.testing.assert_allclose(layer(tf.zeros((1, 0)))[0], exact_values(circuit, READOUTS), atol=1e-5)


MAYBE_CNOT = cirq.MixedUnitaryChannel([(0.4, np.eye(4)), (0.6, cirq.unitary(cirq.CNOT))])
"""It does not commute with gates on one of its qubits."""


@pytest.mark.parametrize("on", list(permutations(range(3), 2)))
def test_a_gate_on_one_qubit_stays_behind_a_channel_on_two(on: tuple[int, int]) -> None:
    """Whichever qubits have had no gate yet, and so no block that ends there."""
    qubits = cirq.LineQubit.range(3)
    readouts = [*map(cirq.Z, qubits)]
    both = MAYBE_CNOT(*(qubits[index] for index in on))
    for turned, last in product(chain.from_iterable(combinations(qubits, size) for size in range(1, 4)), both.qubits):
        first = [cirq.ry(0.7 + qubit.x)(qubit) for qubit in turned]
        circuit = cirq.Circuit(first, cirq.I.on_each(*qubits), both, cirq.rx(0.9)(last))

        layer = NoisyPQC(circuit, readouts)

        values = layer(tf.zeros((1, 0)))[0]
        np.testing.assert_allclose(values, exact_values(circuit, readouts), atol=1e-5, err_msg=str(circuit))


@pytest.mark.parametrize("gamma", [0.0, 0.02, 0.9, 1.0])
def test_many_damping_channels_keep_their_order(gamma: float) -> None:
    damped = cirq.amplitude_damp(gamma)
    turned = [damped.on_each(FIRST, SECOND), cirq.rz(0.3)(FIRST), damped(FIRST), cirq.ry(0.9).on_each(FIRST, SECOND)]
    circuit = cirq.Circuit(PREPARED, [[*turned, cirq.CZ(FIRST, SECOND)]] * 40)

    estimate = NoisyPQC(circuit, READOUTS, trajectories=2000, seed=2).estimate(tf.zeros((1, 0)))

    assert deviation(estimate, exact_values(circuit, READOUTS)) < 5
