"""Mean and variance of each variable's gradient."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

__all__ = ["moments"]


def moments(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns mean and variance of each gradient, in turn: (2 * gradients,).

    The numbers of all gradients are taken as segments of one vector: the operations of one would be repeated for each
    variable, and take longer than the gradients of a small circuit.
    """
    sizes = [each.shape.num_elements() for each in gradients]
    segments = np.repeat(np.arange(len(sizes)), sizes)
    numbers = tf.concat([tf.reshape(each, [-1]) for each in gradients], axis=0)
    shares = tf.constant(1 / np.array(sizes), numbers.dtype)

    def mean(each: tf.Tensor) -> tf.Tensor:
        return shares * tf.math.unsorted_segment_sum(each, segments, len(sizes))

    means = mean(numbers)
    variances = mean(tf.math.squared_difference(numbers, tf.gather(means, segments)))
    return tf.reshape(tf.stack([means, variances], axis=1), [-1])
