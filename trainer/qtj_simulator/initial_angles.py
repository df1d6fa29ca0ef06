"""Initial values of learned angles, and what else Keras lets a user choose for a variable."""

import logging
import sys
from collections.abc import Callable
from math import pi
from typing import Any

import tensorflow as tf
import tf_keras

__all__ = ["Learned", "drawn_seed"]

log = logging.getLogger("qtj_simulator")

_SEEDS = 2**31 - 1


class Learned:
    """How the learned angles of a layer begin, and what is asked of them, in the words of Keras' own layers.

    By default each angle is drawn from [0, 2π): gates X**t have the period t = 2, and rotations that of 4π up to a
    sign, so it covers all gates. TensorFlow Quantum's layers have the same range.
    """

    def __init__(self, seed: int | None, initializer: Any, regularizer: Any, constraint: Any) -> None:
        """Takes Keras' objects, their names or their configurations.

        Args:
            seed: Seed of the default initializer. Without one it follows `tf.keras.utils.set_random_seed`, as those of
                other layers do, and each layer has numbers of its own.
            initializer: Another initializer, or None.
            regularizer: See `tf_keras.regularizers`; None for none.
            constraint: See `tf_keras.constraints`; None for none.

        Raises:
            ValueError: Both a seed and an initializer, or a name that Keras does not have.
        """
        if initializer is not None and seed is not None:
            raise ValueError(f"seed is {seed} and there is an initializer: give the seed to the initializer")
        self._given = tf_keras.initializers.get(initializer)
        self._seed = seed
        self._regularizer = tf_keras.regularizers.get(regularizer)
        self._constraint = tf_keras.constraints.get(constraint)

    def variable(self, layer: tf_keras.layers.Layer, number: int) -> tf.Variable:
        """Adds the variable `angles` (number,) to a layer, in the type of the layer."""
        return layer.add_weight(
            name="angles",
            shape=(number,),
            initializer=self._given or _uniform(self._seed),
            regularizer=self._regularizer,
            constraint=self._constraint,
        )

    def to_config(self) -> dict[str, Any]:
        """Returns what the layer's `get_config` says of it: the arguments of `__init__` but the seed."""
        return {
            "initializer": self._given and tf_keras.initializers.serialize(self._given),
            "regularizer": self._regularizer and tf_keras.regularizers.serialize(self._regularizer),
            "constraint": self._constraint and tf_keras.constraints.serialize(self._constraint),
        }


def drawn_seed() -> int:
    """Returns a seed that follows `tf.keras.utils.set_random_seed`, another one at each call."""
    return int(tf_keras.initializers.RandomUniform(0, _SEEDS)(shape=(), dtype=tf.int32))


def _uniform(seed: int | None) -> Callable[..., tf.Tensor]:
    """Returns the default initializer: the same numbers for each type."""
    uniform = tf_keras.initializers.RandomUniform(0, 2 * pi, seed=seed)
    return lambda shape, dtype: tf.cast(uniform(shape, tf.float32), dtype)


def _warn_of_keras_3() -> None:
    """TensorFlow chooses its Keras when that is first used, which may have been before this package was imported."""
    if "keras" in sys.modules and tf.keras.layers.Layer is not tf_keras.layers.Layer:
        log.warning(
            "tf.keras is Keras 3 here, and takes no layer of Keras 2, such as PQC: import qtj_simulator or qtj_trainer "
            "before tf.keras is first used, or write tf_keras in place of tf.keras"
        )


_warn_of_keras_3()
