"""A serialised circuit is a structure and numbers, and they are the same circuit."""

import random

import cirq
import numpy as np
import pytest
import sympy
import tensorflow_quantum as tfq
from google.protobuf.message import DecodeError

from qtj_simulator.tfq.circuits import Circuit, Structure, divided

FIRST, SECOND = cirq.GridQubit.rect(1, 2)
ANGLE = sympy.Symbol("angle")


def read(circuit: cirq.Circuit, *qubits: str) -> Circuit:
    return divided(tfq.convert_to_tensor([circuit]).numpy()[0], frozenset(qubits))


def resolved(circuit: Circuit) -> cirq.Circuit:
    names = circuit.structure.numbers
    return cirq.resolve_parameters(circuit.structure.circuit(), dict(zip(names, circuit.numbers, strict=True)))


@pytest.mark.parametrize(
    "circuit",
    [
        cirq.Circuit(cirq.X(FIRST), cirq.H(FIRST) ** 0.3, cirq.Y(SECOND) ** -1.7, cirq.Z(SECOND) ** 0.4),
        cirq.Circuit(cirq.H(FIRST), cirq.CNOT(FIRST, SECOND), cirq.rx(0.3)(FIRST), cirq.T(SECOND), cirq.X(SECOND)),
        cirq.Circuit(cirq.H(FIRST), cirq.ISWAP(FIRST, SECOND) ** 0.5, cirq.ZZ(FIRST, SECOND) ** 0.123),
        cirq.Circuit(cirq.I(FIRST), cirq.CZ(FIRST, SECOND) ** 0.2, cirq.PhasedXPowGate(phase_exponent=0.2)(FIRST)),
        cirq.Circuit(cirq.H.on_each(FIRST, SECOND), cirq.FSimGate(0.3, 0.4)(FIRST, SECOND), cirq.rz(0.0)(FIRST)),
    ],
)  # fmt: skip
def test_structure_and_numbers_make_the_same_state(circuit: cirq.Circuit) -> None:
    expected = circuit.final_state_vector(qubit_order=[FIRST, SECOND], dtype=np.complex128)
    state = resolved(read(circuit)).final_state_vector(qubit_order=[FIRST, SECOND], dtype=np.complex128)

    assert abs(np.vdot(state, expected)) == pytest.approx(1, abs=1e-6)


def test_images_have_one_structure_whatever_their_bright_pixels_are() -> None:
    names = ("0_0", "0_1")
    images = [cirq.Circuit(), cirq.Circuit(cirq.X(FIRST)), cirq.Circuit(cirq.X(FIRST), cirq.X(SECOND))]

    assert len({read(image, *names).structure for image in images}) == 1


def test_rotations_differ_in_numbers_and_other_gates_in_structure() -> None:
    def after_a_pair(gate: cirq.Gate) -> Structure:
        return read(cirq.Circuit(cirq.CZ(FIRST, SECOND), gate(FIRST))).structure

    assert after_a_pair(cirq.rx(0.3)) == after_a_pair(cirq.rx(np.pi))
    assert after_a_pair(cirq.X**0.3) == after_a_pair(cirq.X**0.7)
    assert after_a_pair(cirq.X) != after_a_pair(cirq.X**0.7)
    assert after_a_pair(cirq.X) != after_a_pair(cirq.Y)


def test_bytes_that_are_damaged_are_read_or_refused() -> None:
    whole = tfq.convert_to_tensor([cirq.Circuit(cirq.H(FIRST), cirq.CNOT(FIRST, SECOND), cirq.rx(ANGLE)(FIRST))])
    outcomes = set()
    for seed in range(300):
        damaged, chance = bytearray(whole.numpy()[0]), random.Random(seed)
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            divided(bytes(damaged[: chance.randint(1, 2 * len(damaged))]), frozenset()).structure.circuit()
            outcomes.add("read")
        except (DecodeError, TypeError, ValueError) as problem:
            outcomes.add(type(problem).__name__)

    assert {"read", "DecodeError"} <= outcomes
