"""What a workload is. A new one is one file with one class, added to the registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from qtj_contract.memory import ReplicaMemory
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras

__all__ = ["Answers", "Arrays", "Examples", "Split", "Workload"]

Arrays = Mapping[str, NDArray[Any]]
"""Examples as they are stored: named columns of equal length."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as a model takes them.

    Attributes:
        inputs: (examples, ...), as the model takes them or, with `decode`, as it does.
        labels: float32 (examples,).
        decode: Turns one of `inputs` into what the model takes, for what is too large to be held: read a file, decode,
            resize. Called by tf.data, several at a time.
    """

    inputs: NDArray[Any]
    labels: NDArray[np.float32]
    decode: "Callable[[tf.Tensor], tf.Tensor] | None" = None

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Split:
    """All examples of a run: those it learns from, and those it is judged by."""

    training: Arrays
    held_out: Arrays


class Answers(NamedTuple):
    """What examples are and what a model takes them for: numbers of classes, or measurements.

    Attributes:
        labels: (examples,).
        predictions: (examples,).
        scores: float (examples,), what the predictions go by.
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
    """What a run is judged by: means over the held-out set, by name."""
    accuracy: ClassVar[str | None]
    """The score that is a share of right answers, 0 to 1: the one `kubectl get qtj` shows. None without one."""
    least_batch: ClassVar[int] = 0
    """The fewest rows that the model takes at once."""

    def split(self, options: Any) -> Split:  # noqa: ANN401  an instance of `options`
        """Makes or finds the examples: the same in every process."""

    def encode(self, examples: Arrays, options: Any) -> Examples:  # noqa: ANN401
        """Turns stored examples into what the model takes."""

    def model(self, options: Any) -> "tf_keras.Model":  # noqa: ANN401
        """Builds the model, initialised from the seed alone."""

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns the error of each example; training minimises their mean."""

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns all `scores` of each example."""

    def classes(self, options: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Names the classes that it tells apart; none where labels are measurements."""
        del options
        return ()

    def answers(self, labels: NDArray[Any], predictions: NDArray[Any]) -> Answers:
        """Says what the outputs of the model mean: in numbers of `classes`, where there are some."""
        return Answers(labels, predictions, predictions)

    def fingerprint(self, options: Any) -> str:  # noqa: ANN401
        """Returns a digest of the model's structure: weights only fit where it is the same."""

    def readouts(self, options: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Names the layers whose values are shown as histograms."""
        del options
        return ()

    def as_run(self, options: Any, model: "tf_keras.Model") -> Any:  # noqa: ANN401
        """Returns the options that a model came to, for the record: something else may have run than was asked for."""
        del model
        return options

    def drawing(self, options: Any) -> str:  # noqa: ANN401
        """Returns the model's circuit as text, empty without one."""
        del options
        return ""

    def memory(self, options: Any, replicas: int = 1) -> ReplicaMemory | None:  # noqa: ANN401
        """Returns what one of so many replicas takes in training; None where there is no formula for it."""
        del options, replicas
        return None
