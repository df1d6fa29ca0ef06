"""The same program does the same with both modules: what layers take and return, and what they learn."""

from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
import tensorflow as tf
import tensorflow_quantum
import tf_keras

from bench.tutorials import seeded
from qtj_simulator import tfq

FIRST, SECOND = cirq.GridQubit.rect(1, 2)
ANGLES = sympy.symbols("a b")
MODEL = cirq.Circuit(cirq.ry(ANGLES[0])(FIRST), cirq.CNOT(FIRST, SECOND), cirq.ry(ANGLES[1])(SECOND))
OPERATOR = cirq.Z(SECOND)
OPERATORS = [cirq.Z(FIRST), 0.5 * cirq.X(SECOND) - cirq.Z(FIRST) * cirq.Z(SECOND)]
DATA = [cirq.Circuit(cirq.X(FIRST) ** bit, cirq.I(SECOND)) for bit in (0, 1, 1, 0)]
ANSWERS = np.array([[1.0], [-1.0], [-1.0], [1.0]])
VALUES = [[0.1, 0.2], [0.3, -0.4], [2.0, 1.0], [0.0, 5.0]]

Program = Callable[[Any], Any]


def pqc(tfq: Any, operators: Any = OPERATOR, **options: Any) -> Any:
    return tfq.layers.PQC(MODEL, operators, **{"initializer": seeded(), **options})


def controlled(tfq: Any, operators: Any = OPERATOR, **options: Any) -> Any:
    return tfq.layers.ControlledPQC(MODEL, operators, **options)


def expectation(tfq: Any, circuits: Any = MODEL, **options: Any) -> Any:
    layer = tfq.layers.Expectation()
    given = {"operators": OPERATOR, "initializer": seeded(), **options}
    layer(circuits, **given)  # the engine has a circuit from its second batch on
    return layer(circuits, **given)


def data(tfq: Any) -> tf.Tensor:
    return tfq.convert_to_tensor(DATA)


def regularized(tfq: Any) -> Any:
    layer = pqc(tfq, initializer=tf_keras.initializers.Constant(0.5), regularizer=tf_keras.regularizers.L2(0.1))
    layer(data(tfq))
    return layer.losses


def constrained(tfq: Any) -> Any:
    layer = pqc(tfq, initializer=tf_keras.initializers.Constant(0.01), constraint=tf_keras.constraints.NonNeg())
    fitted(layer, data(tfq), -ANSWERS, epochs=3)
    return layer.get_weights()


def fitted(layer: Any, circuits: Any, answers: Any, epochs: int = 25) -> list[float]:
    model = tf_keras.Sequential([tf_keras.Input((), dtype=tf.string), layer])
    model.compile(tf_keras.optimizers.Adam(0.2), "mse")
    losses: list[float] = model.fit(circuits, answers, epochs=epochs, shuffle=False, verbose=0).history["loss"]
    return losses


def controlled_fitted(tfq: Any) -> list[float]:
    """A dense layer learns the angles of each example."""
    circuits, numbers = tf_keras.Input((), dtype=tf.string), tf_keras.Input((1,))
    angles = tf_keras.layers.Dense(2, kernel_initializer=seeded())(numbers)
    model = tf_keras.Model([circuits, numbers], controlled(tfq)([circuits, angles]))
    model.compile(tf_keras.optimizers.Adam(0.1), "mse")
    same = tfq.convert_to_tensor([cirq.Circuit()] * 4)
    losses: list[float] = model.fit([same, (1 - ANSWERS) / 2], ANSWERS, epochs=40, shuffle=False, verbose=0).history[
        "loss"
    ]
    return losses


def expectation_fitted(tfq: Any) -> list[float]:
    """The layer has weights of its own, if it gets no values."""
    circuits = tf_keras.Input((), dtype=tf.string)
    values = tfq.layers.Expectation()(circuits, symbol_names=ANGLES, operators=OPERATOR, initializer=seeded())
    model = tf_keras.Model(circuits, values)
    model.compile(tf_keras.optimizers.Adam(0.2), "mse")
    given = tfq.convert_to_tensor([each + MODEL for each in DATA])
    losses: list[float] = model.fit(given, ANSWERS, epochs=25, shuffle=False, verbose=0).history["loss"]
    return losses


def slope_with(tfq: Any, differentiator: str) -> Any:
    layer = pqc(tfq, OPERATORS, differentiator=getattr(tfq.differentiators, differentiator)())
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(data(tfq)) ** 2)
    return tape.gradient(loss, layer.trainable_weights[0])


PROGRAMS: dict[str, Program] = {
    "one operator": lambda tfq: pqc(tfq)(data(tfq)),
    "a list of operators": lambda tfq: pqc(tfq, OPERATORS)(data(tfq)),
    "a tuple of operators": lambda tfq: pqc(tfq, tuple(OPERATORS))(data(tfq)),
    "an array of operators": lambda tfq: pqc(tfq, np.array(OPERATORS, object))(data(tfq)),
    "symbols in order": lambda tfq: [
        float(str(each) == name) for each, name in zip(pqc(tfq).symbols, "ab", strict=True)
    ],
    "values by symbol": lambda tfq: [float(each) for each in pqc(tfq).symbol_values().values()],
    "weights": lambda tfq: [weight.shape for weight in pqc(tfq).trainable_weights],
    "no trainable weights": lambda tfq: [
        len(each.trainable_weights) for each in (pqc(tfq, trainable=False), controlled(tfq))
    ],
    "a regularizer": regularized,
    "a constraint": constrained,
    "the backend by name": lambda tfq: pqc(tfq, backend="noiseless")(data(tfq)),
    "angles for each example": lambda tfq: controlled(tfq, OPERATORS)([data(tfq), tf.constant(VALUES)]),
    "angles in double precision": lambda tfq: expectation(
        tfq, symbol_names=ANGLES, symbol_values=np.array(VALUES), operators=OPERATORS
    ),
    "one circuit, many angles": lambda tfq: expectation(tfq, symbol_names=["a", "b"], symbol_values=VALUES),
    "names in another order": lambda tfq: expectation(tfq, symbol_names=["b", "a"], symbol_values=VALUES),
    "names in a tensor": lambda tfq: expectation(tfq, symbol_names=tf.constant(["a", "b"]), symbol_values=VALUES),
    "a list of circuits": lambda tfq: expectation(tfq, DATA),
    "operators of each circuit": lambda tfq: expectation(tfq, DATA, operators=[[cirq.Z(FIRST)], [cirq.X(FIRST)]] * 2),
    "the differentiator Adjoint": lambda tfq: slope_with(tfq, "Adjoint"),
    "the differentiator ParameterShift": lambda tfq: slope_with(tfq, "ParameterShift"),
    "the differentiator CentralDifference": lambda tfq: slope_with(tfq, "CentralDifference"),
    "circuits in front": lambda tfq: pqc(tfq)(tfq.layers.AddCircuit()(data(tfq), prepend=cirq.Circuit(cirq.Y(FIRST)))),
}
TRAININGS: dict[str, Callable[[Any], list[float]]] = {
    "PQC": lambda tfq: fitted(pqc(tfq), data(tfq), ANSWERS),
    "ControlledPQC": controlled_fitted,
    "Expectation": expectation_fitted,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_does_the_same(program: str) -> None:
    theirs, ours = (PROGRAMS[program](module) for module in (tensorflow_quantum, tfq))

    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, atol=2e-3 if "differentiator" in program else 2e-5)


@pytest.mark.parametrize("layer", TRAININGS)
def test_a_training_reaches_the_same_loss(layer: str) -> None:
    theirs, ours = (TRAININGS[layer](module) for module in (tensorflow_quantum, tfq))

    np.testing.assert_allclose(ours, theirs, atol=2e-3)
    assert ours[-1] < 0.1


def test_weights_are_drawn_from_a_turn() -> None:
    many = cirq.Circuit(cirq.rx(symbol)(FIRST) for symbol in sympy.symbols("c:50"))
    for module in (tensorflow_quantum, tfq):
        [weights] = module.layers.PQC(many, cirq.Z(FIRST)).get_weights()

        assert weights.shape == (50,)
        assert 0 <= weights.min() < 2
        assert 4 < weights.max() <= 2 * np.pi


@pytest.mark.parametrize(
    "layer",
    ["AddCircuit", "NoisyControlledPQC", "NoisyPQC", "Sample", "SampledExpectation", "State", "Unitary"],
)
def test_other_layers_are_those_of_tensorflow_quantum(layer: str) -> None:
    assert getattr(tfq.layers, layer) is getattr(tensorflow_quantum.layers, layer)
