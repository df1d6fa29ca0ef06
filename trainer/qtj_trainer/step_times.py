"""How long the last steps of a training took, and how much of it this process did not wait for its peers."""

from collections import deque
from statistics import median
from typing import NamedTuple

from qtj_contract import StepTimes

__all__ = ["RecentSteps"]

_WINDOW = 60.0
"""Seconds of steps that are kept: a replica that is slow for a moment is not slow in their median."""

_FEWEST = 20
"""Samples that are kept in any case, however long a step is."""

_SAMPLE = 0.25
"""Seconds of a sample: shorter steps are added up."""


class _Sample(NamedTuple):
    seconds: float
    waited: float
    steps: int


class RecentSteps:
    """Collects the times of steps. The caller leaves out steps in which something else happened."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._span = 0.0
        self._open = _Sample(0.0, 0.0, 0)

    def add(self, seconds: float, waited: float, steps: int = 1) -> None:
        """Adds steps that have ended.

        Args:
            seconds: How long they took together.
            waited: Seconds of these in which the process waited for its peers.
            steps: How many there were.
        """
        seconds = max(seconds, 0.0)
        waited = min(max(waited, 0.0), seconds)
        before = self._open
        self._open = _Sample(before.seconds + seconds, before.waited + waited, before.steps + steps)
        if self._open.seconds >= _SAMPLE:
            self._keep(self._open)
            self._open = _Sample(0.0, 0.0, 0)

    def _keep(self, sample: _Sample) -> None:
        self._samples.append(sample)
        self._span += sample.seconds
        while len(self._samples) > _FEWEST and self._span - self._samples[0].seconds >= _WINDOW:
            self._span -= self._samples.popleft().seconds

    def times(self) -> StepTimes | None:
        """Returns the medians; None before the first sample. Another thread may call it."""
        samples = tuple(self._samples)
        if not samples:
            return None
        return StepTimes(
            seconds=median(each.seconds / each.steps for each in samples),
            own=median((each.seconds - each.waited) / each.steps for each in samples),
            steps=sum(each.steps for each in samples),
            span=sum(each.seconds for each in samples),
        )
