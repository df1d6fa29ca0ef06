"""The memory of a card that an engine holds, and how many examples it has room for."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from qtj_simulator.fused.cuda.driver import Card, Memory

__all__ = ["Room"]

_USED = 0.9
"""The part of the free memory that a call takes at most."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Room:
    """Memory by name, taken again only where it has to grow.

    Attributes:
        card: Whose memory it is.
        by_name: What is held.
    """

    card: Card
    by_name: dict[str, Memory] = field(default_factory=dict)

    def take(self, name: str, size: int) -> Memory:
        """Returns memory of at least this size; what it held is lost where it grows."""
        if name not in self.by_name or self._held(name) < size:
            self.by_name.pop(name, None)
            self.by_name[name] = Memory(self.card, size)
        return self.by_name[name]

    def reserve(self, sizes: Callable[[int], dict[str, int]], most: int) -> int:
        """Takes memory for as many examples as there is room for.

        Args:
            sizes: The memory for so many examples, by name.
            most: How many there are.

        Returns:
            For how many it was enough: one at least.

        Raises:
            MemoryError: If it is not enough for one.
        """
        one = sizes(1)
        free = self.card.free + sum(map(self._held, one))
        count = max(1, min(most, int(free * _USED) // sum(one.values())))
        while True:
            try:
                self._grow(sizes(count))
            except MemoryError:
                if count == 1:
                    raise
                count = -(-count // 2)
                _log.warning("the memory of the GPU is full: it now computes %d examples at a time", count)
            else:
                return count

    def _grow(self, sizes: dict[str, int]) -> None:
        if any(self._held(name) < size for name, size in sizes.items()):
            for name in sizes:  # so that what is old and what is new are not held at the same time
                self.by_name.pop(name, None)
        for name, size in sizes.items():
            self.take(name, size)

    def _held(self, name: str) -> int:
        known = self.by_name.get(name)
        return known.size if known else 0
