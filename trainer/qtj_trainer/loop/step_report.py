"""The numbers of an optimizer step, in the order in which a replica returns them.

    loss | each score | mean and variance of each variable's gradient | norm of the whole gradient

The norm is not part of the exchange: it follows from the moments and the sizes of the variables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

from qtj_trainer.stored.position import Gradient

__all__ = ["Layout", "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of one step, or their means over the steps of an epoch.

    Attributes:
        loss: Training error, before the step.
        scores: Scores on the same examples.
        gradients: The gradient of each variable, by name.
        gradient_norm: Euclidean norm of the gradient of all variables, before clipping; None if it is not known.
    """

    loss: float
    scores: Mapping[str, float]
    gradients: Mapping[str, Gradient]
    gradient_norm: float | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Which number of a report is which.

    Attributes:
        scores: Names of the scores.
        variables: Name and number of components of each variable that training changes.
    """

    scores: tuple[str, ...]
    variables: tuple[tuple[str, int], ...]

    def with_norm(self, report: Sequence[float]) -> tuple[float, ...]:
        """Returns the numbers of a replica's report, and the norm of the gradient."""
        moments = report[1 + len(self.scores) :]
        sizes = [size for _, size in self.variables]
        parts = zip(sizes, moments[::2], moments[1::2], strict=True)
        square = sum(size * (variance + mean**2) for size, mean, variance in parts)
        return (*map(float, report), sqrt(square))

    def sums_before(self, sums: Sequence[float]) -> tuple[float, ...]:
        """Returns the sums of earlier steps of an epoch, for the numbers of `with_norm`.

        Args:
            sums: Those of a position; empty at the start of an epoch. Those of an earlier version have no norm, so the
                norm of that epoch stays unknown.
        """
        count = 2 + len(self.scores) + 2 * len(self.variables)
        return (*sums, *[nan if sums else 0.0] * (count - len(sums)))

    def measured(self, numbers: Sequence[float]) -> Measured:
        """Names what `with_norm` returned, or means of it."""
        loss, scores, moments, norm = self._parts(numbers)
        gradients = {name: each for (name, _), each in zip(self.variables, moments, strict=True)}
        return Measured(loss, dict(zip(self.scores, scores, strict=True)), gradients, norm if isfinite(norm) else None)

    def _parts(self, numbers: Sequence[float]) -> tuple[float, list[float], list[Gradient], float]:
        loss, *others, norm = map(float, numbers)
        count = len(self.scores)
        moments = others[count:]
        return loss, others[:count], list(map(Gradient, moments[::2], moments[1::2])), norm
