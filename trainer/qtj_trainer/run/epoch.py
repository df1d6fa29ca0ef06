"""What one pass over the training examples came to."""

from dataclasses import dataclass

__all__ = ["Epoch"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """A finished epoch.

    Attributes:
        number: Epochs finished, this one included.
        step: Optimizer steps finished, those of earlier epochs included.
        loss: Mean training error, of each batch before its step.
        scores: Means over the held-out set after the epoch.
        examples_per_second: Training examples of all replicas, without the time for scores.
    """

    number: int
    step: int
    loss: float
    scores: dict[str, float]
    examples_per_second: float
