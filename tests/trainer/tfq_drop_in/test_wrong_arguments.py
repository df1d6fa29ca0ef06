"""Mistakes have the same error with the drop-in module as with TensorFlow Quantum."""

import re
from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tensorflow_quantum

from bench.tutorials import seeded
from qtj_simulator import tfq

FIRST, SECOND = cirq.GridQubit.rect(1, 2)
ANGLE = sympy.Symbol("angle")
MODEL = cirq.Circuit(cirq.rx(ANGLE)(FIRST))
OPERATOR = cirq.Z(FIRST)
DATA = tfq.convert_to_tensor([cirq.Circuit(cirq.X(FIRST)), cirq.Circuit()])
Program = Callable[[Any], Any]


def expected_value(tfq: Any, **changes: Any) -> Any:
    given = {"operators": OPERATOR, "symbol_names": [ANGLE], "symbol_values": [[0.1]], **changes}
    layer = tfq.layers.Expectation()
    return [layer(given.pop("circuit", MODEL), **given), layer(MODEL, **given)]


MISTAKES: dict[str, Program] = {
    "no circuits": lambda tfq: pqc(tfq)(tf.constant(["x", "y"])),
    "cut circuits": lambda tfq: pqc(tfq)(tf.strings.substr(DATA, 0, 30)),
    "a matrix of circuits": lambda tfq: pqc(tfq)(DATA[tf.newaxis]),
    "numbers": lambda tfq: pqc(tfq)(tf.constant([1.0])),
    "a symbol without a value": lambda tfq: expected_value(tfq, symbol_names=["other"]),
    "too few values": lambda tfq: expected_value(tfq, symbol_names=[ANGLE, "other"]),
    "a symbol twice": lambda tfq: expected_value(tfq, symbol_names=[ANGLE, ANGLE]),
    "an operator on an absent qubit": lambda tfq: expected_value(tfq, operators=cirq.Z(SECOND)),
    "an operator on an absent qubit of a model": lambda tfq: pqc(tfq, operator=cirq.Z(SECOND))(DATA),
    "damaged operators": lambda tfq: expected_value(tfq, operators=tf.constant([["x"]])),
    "no operator": lambda tfq: expected_value(tfq, operators=None),
    "noise": lambda tfq: expected_value(tfq, circuit=cirq.Circuit(MODEL, cirq.depolarize(0.1)(FIRST))),
    "a model without symbols": lambda tfq: pqc(tfq, cirq.Circuit(cirq.X(FIRST))),
    "no model": lambda tfq: tfq.layers.ControlledPQC("X", OPERATOR),
    "shots of zero": lambda tfq: pqc(tfq, repetitions=0),
    "an unknown backend": lambda tfq: pqc(tfq, backend="fast"),
    "an operator of another type": lambda tfq: pqc(tfq, operator="Z"),
    "a list with an operator of another type": lambda tfq: pqc(tfq, operator=[OPERATOR, "Z"]),
    "a model that is a text": lambda tfq: pqc(tfq, "X"),
    "shots in fractions": lambda tfq: pqc(tfq, repetitions=1.5),
    "a differentiator that is a text": lambda tfq: pqc(tfq, differentiator="adjoint"),
    "an operator of another type for angles": lambda tfq: tfq.layers.ControlledPQC(MODEL, "Z"),
    "shots of zero for angles": lambda tfq: tfq.layers.ControlledPQC(MODEL, OPERATOR, repetitions=0),
    "an unknown backend for angles": lambda tfq: tfq.layers.ControlledPQC(MODEL, OPERATOR, backend="fast"),
    "too many angles": lambda tfq: tfq.layers.ControlledPQC(MODEL, OPERATOR)([DATA, tf.zeros([2, 3])]),
    "angles for fewer circuits": lambda tfq: tfq.layers.ControlledPQC(MODEL, OPERATOR)([DATA, tf.zeros([1, 1])]),
    "names that are numbers": lambda tfq: expected_value(tfq, symbol_names=[1.5]),
    "values that are a text": lambda tfq: expected_value(tfq, symbol_values="one"),
    "operators that are a text": lambda tfq: expected_value(tfq, operators="Z"),
    "circuits that are a text": lambda tfq: expected_value(tfq, circuit="X"),
    "a differentiator of a value that is a text": lambda tfq: tfq.layers.Expectation(differentiator="adjoint"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_the_same_error(mistake: str) -> None:
    theirs, ours = (_error(MISTAKES[mistake], module) for module in (tensorflow_quantum, tfq))

    assert ours == theirs


def test_a_mistake_in_a_graph_has_the_same_error() -> None:
    graphs = [tf.function(pqc(module)) for module in (tensorflow_quantum, tfq)]

    for graph in graphs:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unparseable proto"):
            graph(tf.constant(["x"]))


def test_an_empty_batch_has_no_values() -> None:
    values = [pqc(module)(DATA[:0]) for module in (tensorflow_quantum, tfq)]

    assert [each.shape for each in values] == [(0, 1), (0, 1)]


def test_a_circuit_without_gates_has_the_value_that_tensorflow_quantum_gives_it() -> None:
    layers = [module.layers.Expectation() for module in (tensorflow_quantum, tfq)]
    theirs, ours = (
        [layer(cirq.Circuit(), operators=OPERATOR, initializer=seeded()) for _ in range(2)] for layer in layers
    )

    np.testing.assert_array_equal(ours, theirs)


def test_an_angle_that_is_not_a_number_has_no_value() -> None:
    layer = tfq.layers.ControlledPQC(MODEL, OPERATOR)

    values = layer([DATA, tf.constant([[np.nan], [0.0]])]).numpy()

    assert np.isnan(values[0])
    assert values[1] == pytest.approx(1)


def pqc(tfq: Any, model: Any = MODEL, operator: Any = OPERATOR, **options: Any) -> Any:
    return tfq.layers.PQC(model, operator, initializer=seeded(), **options)


def _error(program: Program, module: Any) -> tuple[type[BaseException], str]:
    """Returns the class of an error and its sentence, without the name of the layer."""
    with pytest.raises((TypeError, ValueError, RuntimeError, tf.errors.OpError)) as problem:
        program(module)
    sentences = [line for line in str(problem.value).splitlines() if line and "when calling layer" not in line]
    return problem.type, re.sub(r"_\d+", "", sentences[0])
