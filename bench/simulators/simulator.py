"""What every simulator of the benchmark offers."""

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class Simulator(NamedTuple):
    """Both return what they computed, as NumPy arrays."""

    forward: Callable[[], Array]
    gradient: Callable[[], Array]
