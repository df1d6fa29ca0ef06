"""Initial angles follow the seed that a program sets for everything, and Keras' own words for a variable."""

from collections.abc import Callable
from math import pi
from typing import Any

import cirq
import pytest
import sympy
import tensorflow as tf
import tf_keras

from qtj_simulator import PQC, NoisyPQC, tfq

QUBIT = cirq.LineQubit(0)
WEIGHTS = sympy.symbols("w0:4")
CIRCUIT = cirq.Circuit(cirq.ry(weight)(QUBIT) ** (1 if k % 2 else 0.5) for k, weight in enumerate(WEIGHTS))
NOISY = cirq.Circuit(cirq.ry(WEIGHTS[0])(QUBIT), cirq.amplitude_damp(0.3)(QUBIT), cirq.ry(WEIGHTS[1])(QUBIT))


def exact(**options: Any) -> tf_keras.layers.Layer:
    return PQC(CIRCUIT, cirq.Z(QUBIT), weights=WEIGHTS, **options)


def noisy(**options: Any) -> tf_keras.layers.Layer:
    return NoisyPQC(NOISY, cirq.Z(QUBIT), weights=WEIGHTS[:2], shots=20, **options)


def drop_in(**options: Any) -> tf_keras.layers.Layer:
    layer = tfq.layers.PQC(CIRCUIT, cirq.Z(QUBIT), **options)
    layer(tfq.convert_to_tensor([cirq.Circuit(cirq.X(QUBIT))]))
    return layer


Made = Callable[..., tf_keras.layers.Layer]


def angles(layer: tf_keras.layers.Layer) -> tuple[float, ...]:
    return tuple(layer.get_weights()[0].tolist())


@pytest.mark.parametrize("made", [exact, noisy, drop_in])
def test_angles_follow_the_seed_of_the_program(made: Made) -> None:
    drawn = []
    for seed in (1, 2, 1):
        tf.keras.utils.set_random_seed(seed)
        drawn.append((angles(made()), angles(made())))

    assert drawn[0] == drawn[2]
    assert len({*drawn[0], *drawn[1]}) == 4  # two layers of one model, and two seeds
    assert all(0 <= angle < 2 * pi for pair in drawn for layer in pair for angle in layer)


@pytest.mark.parametrize("made", [exact, noisy])
def test_a_seed_of_its_own_is_one_whatever_the_program_sets(made: Made) -> None:
    drawn = []
    for seed in (1, 2):
        tf.keras.utils.set_random_seed(seed)
        drawn.append(angles(made(seed=7)))

    assert drawn[0] == drawn[1] != angles(made(seed=8))


def test_random_numbers_of_noise_follow_the_seed_of_the_program() -> None:
    def values(seed: int) -> list[float]:
        tf.keras.utils.set_random_seed(seed)
        layer = noisy(initializer=tf_keras.initializers.Constant(0.4))
        return [float(layer(tf.zeros([1, 0]))[0, 0]) for _ in range(3)]

    assert values(1) == values(1) != values(2)


@pytest.mark.parametrize("made", [exact, noisy, drop_in])
def test_the_words_of_keras_for_a_variable_are_taken(made: Made) -> None:
    layer = made(initializer="ones", regularizer=tf_keras.regularizers.L2(0.5), constraint="non_neg")

    assert set(angles(layer)) == {1.0}
    assert [float(loss) for loss in layer.losses] == [0.5 * len(angles(layer))]
    layer.trainable_weights[0].assign(-layer.trainable_weights[0])
    constraint = layer.trainable_weights[0].constraint
    assert set(constraint(layer.trainable_weights[0]).numpy().tolist()) == {0.0}


@pytest.mark.parametrize("made", [exact, noisy])
def test_a_layer_comes_back_from_its_configuration(made: Made) -> None:
    layer = made(initializer=tf_keras.initializers.Constant(0.25), regularizer="l1", constraint="max_norm")

    again = type(layer).from_config(layer.get_config())

    assert again.get_config() == layer.get_config()
    assert angles(again) == angles(layer)
    assert [float(loss) for loss in again.losses] == [float(loss) for loss in layer.losses] != []


def test_a_seed_beside_an_initializer_is_refused() -> None:
    with pytest.raises(ValueError, match="seed is 3 and there is an initializer: give the seed to the initializer"):
        exact(seed=3, initializer="zeros")
