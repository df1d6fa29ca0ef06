"""What a layer refuses, in one sentence, before any engine sees it; and what it takes in more than one spelling."""

from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qtj_simulator.specification import Specification, specified

A, B = sympy.symbols("a b")
FIRST, SECOND = cirq.LineQubit.range(2)
CIRCUIT = cirq.Circuit(cirq.rx(A)(FIRST), cirq.Y(SECOND) ** B)
Z = cirq.Z(FIRST)


def asked(**changed: Any) -> Specification:
    return specified(**{"circuit": CIRCUIT, "readouts": [Z], "inputs": [A], "weights": [B]} | changed)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"circuit": "X"}, "the circuit is a str: give a cirq.Circuit"),
        ({"circuit": [cirq.X(FIRST)]}, "the circuit is a list: give"),
        ({"readouts": ["Z"]}, "a readout is a str: give a cirq.PauliString, cirq.PauliSum or cirq.ProjectorString"),
        ({"readouts": [[Z]]}, "a readout is a list: give"),
        ({"readouts": [np.eye(2)]}, "a readout is a ndarray: give"),
        ({"inputs": A}, "inputs is a: give a list of symbols"),
        ({"weights": "ab"}, "weights is 'ab': give a list of symbols"),
        ({"inputs": [2 * A]}, r"inputs has 2\*a, which is not a symbol"),
    ],
)
def test_what_is_of_another_type(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        asked(**changed)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"inputs": []}, "the circuit has symbols that are neither inputs nor weights: a"),
        (
            {"circuit": CIRCUIT + cirq.PhasedFSimGate(0.1, zeta=sympy.Symbol("c"))(FIRST, SECOND)},
            "the circuit has symbols that are neither inputs nor weights: c",
        ),
        ({"inputs": [A, B]}, "symbols are listed twice among inputs and weights: b"),
        ({"inputs": [A, A]}, "symbols are listed twice among inputs and weights: a"),
        ({"readouts": [1j * Z]}, "the readout 1j.*Z.* has the factor 1j, which is not a real number"),
        ({"readouts": [Z * cirq.X(FIRST)]}, "the readout 1j.*Y"),
        ({"readouts": [Z + 0.5, 1j * Z + cirq.X(SECOND)]}, "the factor 1j"),
        ({"readouts": [float("nan") * Z]}, "has the factor .*nan.*, which is not a real number"),
        (
            {"circuit": CIRCUIT + cirq.measure(FIRST) + cirq.H(FIRST)},
            "the circuit has cirq.Measure.*, which is not unitary",
        ),
        ({"circuit": CIRCUIT + cirq.reset(FIRST)}, "which is not unitary: remove measurements, and use NoisyPQC"),
        ({"circuit": CIRCUIT + cirq.depolarize(0.1)(FIRST)}, "which is not unitary"),
        ({"circuit": CIRCUIT + cirq.XPowGate(dimension=3)(cirq.LineQid(2, 3))}, "which has 3 levels: only qubits"),
        ({"circuit": CIRCUIT + cirq.X(FIRST).with_classical_controls("m")}, "which is not unitary"),
    ],
)
def test_what_has_no_expectation_values(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        asked(**changed)


@pytest.mark.parametrize("readout", [Z, Z + cirq.X(FIRST), Z * cirq.Z(SECOND), 2.0 * Z])
def test_one_readout_is_a_list_of_one(readout: Any) -> None:
    assert asked(readouts=readout).readouts == (readout,)


def test_symbols_are_known_by_their_names() -> None:
    assumed = sympy.Symbol("a", real=True)

    assert asked(circuit=cirq.Circuit(cirq.rx(assumed)(FIRST))).inputs == (A,)
    assert asked(inputs=["a"], weights=("b",)) == asked()


def test_it_survives_being_written_down() -> None:
    readouts = [Z, 0.5 * cirq.X(FIRST) * cirq.Y(SECOND) - Z + 2]

    assert Specification.from_config(asked(readouts=readouts).to_config()) == asked(readouts=readouts)
