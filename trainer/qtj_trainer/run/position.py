"""How far a training is."""

from dataclasses import dataclass, field

__all__ = ["Epoch", "Gradient", "Position"]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of one variable, over its components, averaged over the steps of an epoch.

    A variance that vanishes as qubits are added is a barren plateau (McClean et al., Nature Communications 9, 4812
    (2018)): there is no slope left to follow.

    Attributes:
        mean: Mean of the components.
        variance: Their variance.
    """

    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class Epoch:
    """A finished epoch.

    Attributes:
        number: Epochs finished, this one included.
        step: Optimizer steps finished, those of earlier epochs included.
        loss: Mean training error, of each batch before its step.
        scores: Means over the held-out set after the epoch.
        examples_per_second: Training examples of all replicas, without the time for scores.
        gradients: Of the variables that training changes, by name.
        validation_loss: Mean error over the held-out set after the epoch; None where it was not measured.
        training_scores: Means over the training set, of each batch before its step, as the loss.
        learning_rate: Of the epoch's last step; None where it is not known.
    """

    number: int
    step: int
    loss: float
    scores: dict[str, float]
    examples_per_second: float
    gradients: dict[str, Gradient] = field(default_factory=dict)
    validation_loss: float | None = None
    training_scores: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None

    @property
    def gradient_variance(self) -> float | None:
        """The variance of the gradient by the circuits' angles, or by all variables where there are none."""
        quantum = [each for name, each in self.gradients.items() if name.endswith("angles")]
        chosen = [each.variance for each in quantum or self.gradients.values()]
        return sum(chosen) / len(chosen) if chosen else None


@dataclass(frozen=True, slots=True)
class Position:
    """A moment between two optimizer steps.

    Attributes:
        step: Optimizer steps finished since training began.
        last: The last finished epoch.
        sums: What the epoch under way has come to: for each number that a step reports, the sum over its examples.
        best: The finished epoch with the lowest loss on the held-out set; None where early stopping is not asked for.
    """

    step: int = 0
    last: Epoch | None = None
    sums: tuple[float, ...] = ()
    best: Epoch | None = None

    @property
    def epochs(self) -> int:
        """Finished epochs."""
        return self.last.number if self.last else 0

    @property
    def ends_epoch(self) -> bool:
        """Whether the last step was the last of an epoch."""
        return self.last is not None and self.last.step == self.step
