"""The variables of a model that training changes."""

from collections.abc import Sequence

import tensorflow as tf
import tf_keras

from qtj_trainer.stored.checkpoints import State

__all__ = ["assign", "changed", "named"]


def changed(model: tf_keras.Model) -> list[tf.Variable]:
    """Returns a model's variables that training changes. Frozen layers are loaded from their source at each start."""
    layers = [layer for layer in model.submodules if isinstance(layer, tf_keras.layers.Layer)]
    frozen = {id(each) for layer in layers if not layer.trainable for each in layer.variables}
    return [each for each in model.variables if id(each) not in frozen]


def named(model: tf_keras.Model) -> list[tuple[str, tf.Variable]]:
    """Returns the trained variables, by layer and name: variables of different filters may have the same name."""
    return [
        (f"{layer.name}/{variable.name.rpartition('/')[2].partition(':')[0]}", variable)
        for layer in model.layers
        for variable in layer.trainable_variables
    ]


def assign(variables: Sequence[tf.Variable], values: State) -> None:
    """Gives each variable its value."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
