"""Adam as one operation for each variable.

Keras composes an update of 14 operations for each variable. In a step of a small circuit, these are half of all
operations, and each takes as long as the next: the variables have a few numbers.
"""

import tensorflow as tf
import tf_keras

__all__ = ["Adam"]


class Adam(tf_keras.optimizers.Adam):  # type: ignore[misc]  # Keras has no types
    """Keras' Adam with the same state and formula (Kingma and Ba 2015, before section 2.1), in TensorFlow's kernel."""

    def update_step(self, gradient: tf.Tensor | tf.IndexedSlices, variable: tf.Variable) -> None:
        """Updates a variable and its two moments. Rows that a sparse gradient lacks count as 0, as in Keras."""
        index = self._index_dict[self._var_key(variable)]
        step = tf.cast(self.iterations + 1, variable.dtype)
        beta_1, beta_2 = (tf.constant(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].handle,
            v=self._velocities[index].handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(self.learning_rate, variable.dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, variable.dtype),
            grad=tf.convert_to_tensor(gradient),
        )
