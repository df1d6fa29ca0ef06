"""The jobs that this operator looks after.

Kept in memory: after a restart the first resync fills it again.
"""

from collections.abc import Iterator

from qtj_operator.api.status import Phase
from qtj_operator.controller.client import Key

__all__ = ["JobRegistry"]


class JobRegistry:
    """Every job that a pass has found, with the phase that it had then."""

    def __init__(self) -> None:
        self._phases: dict[Key, str] = {}

    def __iter__(self) -> Iterator[Key]:
        """Yields the jobs."""
        return iter(tuple(self._phases))

    def add(self, key: Key, phase: str | None) -> None:
        """Adds a job, or its new phase; it has none before its first status."""
        self._phases[key] = phase or Phase.PENDING

    def remove(self, key: Key) -> bool:
        """Removes a job; returns whether it was known."""
        return self._phases.pop(key, None) is not None

    def count(self, phase: Phase) -> int:
        """Returns how many jobs are in a phase."""
        return sum(each == phase for each in self._phases.values())
