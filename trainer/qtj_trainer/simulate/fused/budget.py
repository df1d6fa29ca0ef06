"""The memory that all engines of a process share, for states that wait for their gradient."""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from qtj_contract.memory_limit import free_memory
from qtj_trainer.simulate.fused.engine import Engine

__all__ = ["BUDGET", "Budget"]

_SHARE = 4
"""One part in so many of the free memory. The rest is for what else a program takes, and it takes that later."""


class _Lease(NamedTuple):
    asked: int
    granted: int


class Budget:
    """Lends memory to engines: who comes first gets what is left, and what does not fit is computed again.

    What an engine was lent comes back when it dies.
    """

    def __init__(self, free: Callable[[], int] = free_memory) -> None:
        """Takes what tells the bytes that are free now."""
        self._free = free
        self._leases: WeakKeyDictionary[Engine, _Lease] = WeakKeyDictionary()
        self._lock = Lock()  # TensorFlow calls from several threads

    def lend(self, engine: Engine, batch: int) -> None:
        """Lets an engine keep the states of a batch, or as many as there is room for now.

        What is free is looked at only when an engine asks for more than before.

        Args:
            engine: What is to run the batch next.
            batch: How many examples it has.
        """
        asked = engine.states(batch)
        with self._lock:
            lease = self._leases.get(engine, _Lease(0, 0))
            if asked > lease.asked:
                granted = min(asked, max(lease.granted, lease.granted + self._left()))
                self._leases[engine] = _Lease(asked, granted)
                engine.keep(granted)

    @property
    def lent(self) -> int:
        """The bytes that all engines may hold now."""
        return sum(lease.granted for lease in self._leases.values())

    def _left(self) -> int:
        return (self._free() + self.lent) // _SHARE - self.lent


BUDGET = Budget()
"""That of this process."""
