"""Linear regression: the usual first example for parameter servers.

Labels are a linear function of the features, drawn from the seed, with noise. So the smallest possible mean squared
error is known: the variance of the noise.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qtj_trainer.workloads.options import Options, option
from qtj_trainer.workloads.workload import Arrays, Examples, Split, Workload

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras

__all__ = ["LinearRegression", "LinearRegressionOptions"]

_TRAINING_SHARE = 0.8


@dataclass(frozen=True, kw_only=True)
class LinearRegressionOptions(Options):
    """Options of the linear regression."""

    features: int = option(4, "Features of an example.", at_least=1, at_most=10_000)
    examples: int = option(1000, "Examples, training and held-out together.", at_least=10, at_most=10_000_000)
    noise: float = option(0.1, "Standard deviation of the noise on the labels.", at_least=0, at_most=1000)


class LinearRegression(Workload):
    """One dense unit."""

    name: ClassVar[str] = "linear-regression"
    summary: ClassVar[str] = "Linear regression, small enough to watch a parameter server at work."
    options: ClassVar[type[Options]] = LinearRegressionOptions
    scores: ClassVar[tuple[str, ...]] = ("mse",)
    accuracy: ClassVar[str | None] = None

    def split(self, options: LinearRegressionOptions) -> Split:
        """Draws slopes, a constant, normally distributed features, and noise. 80 % of the examples are for training."""
        random = np.random.default_rng(options.seed)
        slopes, constant = random.uniform(-2, 2, options.features), random.uniform(-2, 2)
        features = random.standard_normal((options.examples, options.features))
        noise = options.noise * random.standard_normal(options.examples)
        labels = features @ slopes + constant + noise
        columns = {"features": features.astype(np.float32), "label": labels.astype(np.float32)}
        return Split.at(columns, _TRAINING_SHARE)

    def encode(self, examples: Arrays, options: LinearRegressionOptions) -> Examples:
        """Returns the examples unchanged."""
        del options
        return Examples(examples["features"], examples["label"])

    def model(self, options: LinearRegressionOptions) -> "tf_keras.Model":
        """Builds a dense unit: one slope for each feature, and a constant."""
        import tf_keras

        glorot = tf_keras.initializers.GlorotUniform(options.seed)
        return tf_keras.Sequential(
            [
                tf_keras.layers.InputLayer((options.features,), name="features"),
                tf_keras.layers.Dense(1, kernel_initializer=glorot, name="line"),
                tf_keras.layers.Reshape((), name="prediction"),
            ],
            name="linear_regression",
        )

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns squared errors, float32 (examples,)."""
        return (labels - predictions) ** 2

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns the squared error, float32 (examples,)."""
        return {"mse": self.errors(labels, predictions)}

    def readouts(self, options: LinearRegressionOptions) -> tuple[str, ...]:
        """Returns the layer of the predictions."""
        del options
        return ("prediction",)

    def fingerprint(self, options: LinearRegressionOptions) -> str:
        """Returns a digest of the number of features."""
        return hashlib.sha256(f"line of {options.features}".encode()).hexdigest()
