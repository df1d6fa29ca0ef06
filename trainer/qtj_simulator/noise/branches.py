"""The branches of a circuit whose channels are mixtures: few of them are all simulated, each with its probability."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.noise.channels import Channel

__all__ = ["Branches", "all_branches"]


class Branches(NamedTuple):
    """All that may happen in a circuit.

    Attributes:
        probabilities: float64 (branches,).
        uniforms: float32 (branches, channels): the numbers that make the trajectory take this branch.
    """

    probabilities: NDArray[np.float64]
    uniforms: NDArray[np.float32]


def all_branches(channels: Sequence[Channel], most: int) -> Branches | None:
    """Lists the branches of a circuit.

    Args:
        channels: Its channels.
        most: The most branches that are worth it.

    Returns:
        The branches; None if there are more, or a channel is not a mixture of unitaries.
    """
    mixtures = [channel.probabilities for channel in channels if channel.probabilities is not None]
    if len(mixtures) < len(channels) or prod(map(len, mixtures)) > most:
        return None
    middles = [np.cumsum(each) - each / 2 for each in mixtures]
    probabilities = np.array([prod(each) for each in product(*mixtures)], np.float64)
    uniforms = np.array(list(product(*middles)), np.float32)
    return Branches(probabilities, uniforms.reshape(len(probabilities), len(channels)))
