"""The common part of all workloads for classification."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.workloads.workload import Answers, Workload

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["Classification"]


class Classification(Workload):
    """Labels are class numbers, predictions are probabilities (examples, classes)."""

    scores: ClassVar[tuple[str, ...]] = ("crossEntropy", "accuracy")
    accuracy: ClassVar[str | None] = "accuracy"
    least_batch: ClassVar[int] = 1
    """TensorFlow's convolutions fail without any row when they are fused with their activation."""

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns cross entropies in nats: -ln of the probability of the right class; float32 (examples,)."""
        import tf_keras

        return tf_keras.losses.sparse_categorical_crossentropy(labels, predictions)

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns the cross entropy, and whether the most probable class is the right one; float32 (examples,)."""
        import tensorflow as tf

        chosen = tf.cast(tf.argmax(predictions, axis=-1), tf.float32)
        right = tf.cast(chosen == tf.cast(labels, tf.float32), tf.float32)
        return {"crossEntropy": self.errors(labels, predictions), "accuracy": right}

    def answers(self, labels: NDArray[Any], predictions: NDArray[Any]) -> Answers:
        """Returns the most probable class, with its probability as the score."""
        return Answers(labels.astype(int), predictions.argmax(axis=-1), np.max(predictions, axis=-1))
