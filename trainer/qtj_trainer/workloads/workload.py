"""The interface of a workload. A new workload is one file with one class, listed in `workloads/__init__.py`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qtj_contract.memory import ReplicaMemory
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras

__all__ = ["Answers", "Arrays", "Examples", "Split", "Workload"]

Arrays = Mapping[str, NDArray[Any]]
"""Stored examples: named columns of equal length."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as inputs of a model.

    Attributes:
        inputs: (examples, ...), the inputs of the model; with `decode`, the inputs of that.
        labels: float32 (examples,).
        decode: Converts one of `inputs` to an input of the model, if all of them are too large for memory: it reads a
            file, decodes and resizes it. tf.data calls it, several times in parallel.
    """

    inputs: NDArray[Any]
    labels: NDArray[np.float32]
    decode: "Callable[[tf.Tensor], tf.Tensor] | None" = None

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Split:
    """All examples of a run: the training set and the held-out set."""

    training: Arrays
    held_out: Arrays

    @classmethod
    def at(cls, columns: Arrays, share: float) -> Self:
        """Takes the first examples for training, and the others as held-out set.

        Args:
            columns: All examples.
            share: The share of them for training.
        """
        cut = int(share * len(columns["label"]))
        return cls(
            training={name: column[:cut] for name, column in columns.items()},
            held_out={name: column[cut:] for name, column in columns.items()},
        )


class Answers(NamedTuple):
    """Labels and predictions of examples: numbers of classes, or measurements.

    Attributes:
        labels: (examples,).
        predictions: (examples,).
        scores: float (examples,), the outputs from which the predictions were made.
    """

    labels: NDArray[Any]
    predictions: NDArray[Any]
    scores: NDArray[Any]


class Workload(Protocol):
    """Data, model and scores of one kind of training.

    Importing a workload is cheap; TensorFlow is imported by the methods that need it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[type[Options]]
    scores: ClassVar[tuple[str, ...]]
    """The metrics of a run: means over the held-out set, by name."""
    accuracy: ClassVar[str | None]
    """The score that is the share of right predictions, 0 to 1, which `kubectl get qtj` shows. None without one."""
    least_batch: ClassVar[int] = 0
    """The smallest batch that the model supports."""

    def split(self, options: Any) -> Split:
        """Generates or reads the examples: the same in every process."""

    def sealed(self, examples: Arrays) -> Arrays:
        """Returns examples as they are stored: with a digest of what a column only names."""
        return examples

    def verify(self, examples: Arrays) -> None:
        """Compares stored examples with what their columns name.

        Raises:
            UserError: If that was changed since it was `sealed`, or cannot be read.
        """
        del examples

    def encode(self, examples: Arrays, options: Any) -> Examples:
        """Converts stored examples to inputs of the model."""

    def model(self, options: Any) -> "tf_keras.Model":
        """Builds the model. Its initial weights depend only on the options."""

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns the error of each example, float32 (examples,); training minimises their mean."""

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns all `scores` of each example by name, float32 (examples,)."""

    def classes(self, options: Any) -> tuple[str, ...]:
        """Returns the names of the classes; empty if labels are measurements."""
        del options
        return ()

    def answers(self, labels: NDArray[Any], predictions: NDArray[Any]) -> Answers:
        """Returns labels and predictions for outputs of the model: numbers of `classes`, if there are classes."""
        return Answers(labels, predictions, predictions)

    def fingerprint(self, options: Any) -> str:
        """Returns a digest of the model's structure: weights fit only if it is the same."""

    def readouts(self, options: Any) -> tuple[str, ...]:
        """Returns the names of the layers whose values are shown as histograms."""
        del options
        return ()

    def as_run(self, options: Any, model: "tf_keras.Model") -> Any:
        """Returns the options for the record, as the model has run: for example, another engine may have simulated."""
        del model
        return options

    def drawing(self, options: Any) -> str:
        """Returns the model's circuit as text; empty without a circuit."""
        del options
        return ""

    def takes_whole_steps(self, options: Any) -> bool:
        """Returns whether a step takes less time than an exchange between processes: then each takes it whole."""
        del options
        return False

    def memory(self, options: Any, replicas: int = 1) -> ReplicaMemory | None:
        """Returns the memory that one of `replicas` replicas needs in training; None if there is no formula for it."""
        del options, replicas
        return None
