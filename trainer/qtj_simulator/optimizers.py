"""Steps of optimizers for the angles of a circuit, with NumPy: Adam, SPSA, and the quantum natural gradient.

    optimizer = Spsa(values, learning_rate=0.1)
    memory = optimizer.memory(angles)
    for number in range(1, 201):
        angles, memory = optimizer.step(number, angles, memory)

A step depends on its arguments alone, also where it draws. So a training that continues with the angles and the memory
of a checkpoint ends with the same digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adam", "NaturalGradient", "Optimizer", "Spsa"]

Array = NDArray[Any]
Slopes: TypeAlias = Callable[[Array], Array]
"""Returns the gradient, float (angles,), at angles."""


class Optimizer(Protocol):
    """Makes a function of angles smaller, step by step."""

    def memory(self, angles: Array) -> Array:
        """Returns what it remembers before the first step, float (rows, angles); no row if it remembers nothing."""

    def step(self, number: int, angles: Array, memory: Array) -> tuple[Array, Array]:
        """Takes a step.

        Args:
            number: The number of the step; the first one is 1.
            angles: Float (angles,).
            memory: What it has remembered so far.

        Returns:
            The next angles and memory.
        """


@dataclass(frozen=True, slots=True)
class Adam:
    """Gradient descent with a step size for each angle (arXiv:1412.6980).

    Attributes:
        slopes: Returns the gradient at angles.
        learning_rate: About how far each angle goes in a step.
        beta_1: Decay of the mean of the gradients.
        beta_2: Decay of the mean of their squares.
    """

    slopes: Slopes
    learning_rate: float = 0.05
    beta_1: float = 0.9
    beta_2: float = 0.99

    def memory(self, angles: Array) -> Array:
        """Returns both means: there is no gradient yet."""
        return np.zeros((2, len(angles)))

    def step(self, number: int, angles: Array, memory: Array) -> tuple[Array, Array]:
        """Takes one gradient."""
        slopes = self.slopes(angles)
        mean = self.beta_1 * memory[0] + (1 - self.beta_1) * slopes
        square = self.beta_2 * memory[1] + (1 - self.beta_2) * slopes**2
        unbiased, scale = mean / (1 - self.beta_1**number), np.sqrt(square / (1 - self.beta_2**number))
        return angles - self.learning_rate * unbiased / (scale + 1e-8), np.stack([mean, square])


@dataclass(frozen=True, slots=True)
class Spsa:
    """Descent along random directions, from values alone: simultaneous perturbation (Spall, 1998).

    The steps become smaller, as 1 / number^0.602, and the perturbations as 1 / number^0.101: the exponents of
    "Implementation of the simultaneous perturbation algorithm for stochastic optimization", IEEE Transactions on
    Aerospace and Electronic Systems 34 (3).

    Attributes:
        values: Returns the function, float (points,), at points, float (points, angles): all of a step in one call.
        learning_rate: Of the first step, for the slope along a direction.
        perturbation: How far from the angles the first step looks.
        directions: How many directions a step averages; each takes two values.
        stability: After how many steps the steps become clearly smaller.
        seed: Of the directions.
    """

    values: Callable[[Array], Array]
    learning_rate: float = 0.1
    perturbation: float = 0.1
    directions: int = 1
    stability: float = 20
    seed: int = 0

    def memory(self, angles: Array) -> Array:
        """Returns nothing to remember."""
        return np.zeros((0, len(angles)))

    def step(self, number: int, angles: Array, memory: Array) -> tuple[Array, Array]:
        """Takes two values for each direction."""
        draw = np.random.default_rng([self.seed, number])
        signs = draw.choice([-1.0, 1.0], (self.directions, len(angles)))
        reach = self.perturbation / number**0.101
        above, below = np.split(self.values(np.concatenate([angles + reach * signs, angles - reach * signs])), 2)
        slopes = ((above - below) / (2 * reach)) @ signs / self.directions
        rate = self.learning_rate * ((self.stability + 1) / (self.stability + number)) ** 0.602
        return angles - rate * slopes, memory


@dataclass(frozen=True, slots=True)
class NaturalGradient:
    """Gradient descent in the space of states: the quantum natural gradient (arXiv:1909.02108).

    Attributes:
        slopes: Returns the gradient at angles.
        metric: Returns the Fubini-Study metric, float (angles, angles), at angles: `StateEngine.metric` for a batch.
        learning_rate: The step size.
        damping: Is added to the diagonal of the metric, which need not have an inverse.
    """

    slopes: Slopes
    metric: Callable[[Array], Array]
    learning_rate: float = 0.02
    damping: float = 0.01

    def memory(self, angles: Array) -> Array:
        """Returns nothing to remember."""
        return np.zeros((0, len(angles)))

    def step(self, number: int, angles: Array, memory: Array) -> tuple[Array, Array]:
        """Takes one gradient and one metric."""
        metric = self.metric(angles) + self.damping * np.eye(len(angles))
        return angles - self.learning_rate * np.linalg.solve(metric, self.slopes(angles)), memory
