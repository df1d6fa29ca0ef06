"""Mean and variance of each variable's gradient."""

from collections.abc import Sequence

import tensorflow as tf

__all__ = ["gradient_statistics"]


def gradient_statistics(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns mean and variance of each gradient, in turn: (2 * gradients,).

    `tf.nn.moments` takes twice as many operations, which are what the step of a small circuit consists of.
    """
    return tf.stack([number for each in gradients for number in _moments(each)])


def _moments(gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    mean = tf.reduce_mean(gradient)
    return mean, tf.reduce_mean(tf.math.squared_difference(gradient, mean))
