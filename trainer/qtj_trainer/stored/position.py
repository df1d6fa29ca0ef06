"""How far a training is."""

from dataclasses import dataclass, field

__all__ = ["Epoch", "Gradient", "Position"]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of one variable, over its components, averaged over the steps of an epoch.

    If the variance vanishes with more qubits, the circuit has a barren plateau: gradients are too small to train with
    (McClean et al., Nature Communications 9, 4812 (2018)).

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
        number: Finished epochs, with this one.
        step: Finished optimizer steps, with those of earlier epochs.
        loss: Mean training error, of each batch before its step.
        scores: Mean scores over the held-out set after the epoch.
        examples_per_second: Training examples of all replicas per second, without the time for the scores.
        gradients: Gradients of the variables that training changes, by name.
        validation_loss: Mean error over the held-out set after the epoch; None if it was not measured.
        training_scores: Mean scores over the training set, of each batch before its step, as for the loss.
        learning_rate: Learning rate of the epoch's last step; None if it is not known.
        gradient_norm: Norm of the gradient of all variables before clipping, averaged over the steps of the epoch; None
            if it is not known.
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
    gradient_norm: float | None = None

    @property
    def gradient_variance(self) -> float | None:
        """Variance of the gradient of the circuits' angles; of all variables if there are no circuits."""
        quantum = [each for name, each in self.gradients.items() if name.endswith("angles")]
        chosen = [each.variance for each in quantum or self.gradients.values()]
        return sum(chosen) / len(chosen) if chosen else None


@dataclass(frozen=True, slots=True)
class Position:
    """A moment between two optimizer steps.

    Attributes:
        step: Optimizer steps since training started.
        last: The last finished epoch.
        sums: For each number that a step reports, its sum over the examples of the running epoch.
        best: The finished epoch with the lowest loss on the held-out set; None without early stopping.
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
