"""What a workload is. A new one is one file with one class, added to the registry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras

__all__ = ["Arrays", "Examples", "Split", "Workload"]

Arrays = Mapping[str, NDArray[Any]]
"""Examples as they are stored: named columns of equal length."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as a model takes them.

    Attributes:
        inputs: float32 (examples, ...).
        labels: float32 (examples,).
    """

    inputs: NDArray[np.float32]
    labels: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Split:
    """All examples of a run: those it learns from, and those it is judged by."""

    training: Arrays
    held_out: Arrays


class Workload(Protocol):
    """Data, model and scores of one kind of training.

    Importing a workload is cheap; TensorFlow is imported by the methods that need it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[type[Options]]
    scores: ClassVar[tuple[str, ...]]
    """What a run is judged by: means over the held-out set, by name."""
    accuracy: ClassVar[str]
    """The score that is a share of right answers, 0 to 1: the one `kubectl get qtj` shows."""

    def split(self, options: Any) -> Split:  # noqa: ANN401  an instance of `options`
        """Makes the examples: the same in every process, from the seed alone."""

    def encode(self, examples: Arrays, options: Any) -> Examples:  # noqa: ANN401
        """Turns stored examples into what the model takes."""

    def model(self, options: Any) -> "tf_keras.Model":  # noqa: ANN401
        """Builds the model, initialised from the seed alone."""

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns the error of each example; training minimises their mean."""

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns all `scores` of each example."""

    def fingerprint(self, options: Any) -> str:  # noqa: ANN401
        """Returns a digest of the model's structure: weights only fit where it is the same."""
