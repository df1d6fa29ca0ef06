"""A `fit` that is killed and continued, with state that Keras lists nowhere: in own callbacks and more optimizers."""

from typing import Any

import pytest
import tensorflow as tf
import tf_keras as keras

from tools.resume.experiment import Case, continues


class Decays(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Computes a learning rate from the one with which training begins."""

    def __init__(self, attribute: str) -> None:
        super().__init__()
        self.attribute = attribute

    def on_train_begin(self, logs: object = None) -> None:
        setattr(self, self.attribute, float(self.model.optimizer.learning_rate.numpy()))

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        self.model.optimizer.learning_rate.assign(getattr(self, self.attribute) * 0.5**epoch)


@pytest.mark.parametrize("attribute", ["base", "_base"])
def test_a_rate_that_is_read_when_training_begins_is_the_first_one(attribute: str) -> None:
    assert continues(Case("decays", callbacks=lambda _: [Decays(attribute)]))


class CountsInVariable(keras.callbacks.Callback):  # type: ignore[misc]
    """Adds to a variable, and sets the learning rate by it."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = tf.Variable(1.0)

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.beta.assign_add(0.5)
        self.model.optimizer.learning_rate.assign(0.1 / self.beta)


def test_a_variable_of_a_callback_continues() -> None:
    assert continues(Case("variable", callbacks=lambda _: [CountsInVariable()]))


class Two(keras.Sequential):  # type: ignore[misc]
    """Trains each of its layers with an optimizer, of which the second is built in the first step, as in a GAN."""

    def __init__(self, layers: Any) -> None:
        super().__init__(layers)
        self.other = keras.optimizers.Adam(0.1)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y[:, None]) ** 2)
        gradients = [*zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)]
        self.optimizer.apply_gradients(gradients[:2])
        self.other.apply_gradients(gradients[:1:-1])  # in another order than the model's
        return {"error": loss}


class WithTwo(Case):
    def model(self) -> Any:
        model = Two([keras.Input(self.shape), keras.layers.Dense(4), keras.layers.Dense(1)])
        model.compile("sgd", loss="mse")
        return model


def test_a_second_optimizer_continues() -> None:
    assert continues(WithTwo("two"))
