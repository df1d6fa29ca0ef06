"""How old the last step of a training is, how long the last ones took, and the stacks of all threads if one is late.

The clock starts with the first step of a process. It is stopped outside of steps, so nothing that may take long counts:
loading, compiling the first step, an evaluation, a checkpoint.

The timer of `faulthandler` is a thread without Python's lock. So it writes the stacks even if another thread holds that
lock and never returns it.
"""

import faulthandler
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from types import FrameType
from typing import NamedTuple

from qtj_contract import Heartbeat, StepTimes
from qtj_trainer.exchange_clock import exchange_seconds

__all__ = ["RecentSteps", "StepClock"]

_DUMPED_AFTER = 0.9
"""The part of the deadline after which stacks are written: at its end, the operator ends the process."""

_ARMED_EVERY = 1.0
"""Seconds from one setting of the timer to the next: each starts a thread, and a step may take a millisecond."""

_PLACE_AFTER = 5.0
"""Seconds without a step after which the place of the main thread is told."""

_LIBRARIES = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))


_WINDOW = 60.0
"""Seconds of steps that are kept: a replica that is slow for a moment is not slow in their median."""

_FEWEST = 20
"""Samples that are kept in any case, however long a step is."""

_SAMPLE = 0.25
"""Seconds of a sample: shorter steps are added up."""


class StepClock:
    """Tells how old the last step is.

    Attributes:
        deadline: Seconds without a step after which the operator restarts the gang; None if it does not.
        recent: How long the last steps took.
    """

    deadline: float | None = None

    def __init__(self) -> None:
        self.recent = RecentSteps()
        self._last: float | None = None
        self._armed = 0.0
        self._waited: float | None = None
        """Seconds in exchanges until the last lap; None if something else than steps happened since."""

    def step(self) -> None:
        """A step has ended, and another one follows."""
        self._last = time.monotonic()
        if self.deadline is not None and self._last - self._armed >= _ARMED_EVERY:
            self._armed = self._last
            with suppress(ValueError, OSError):  # in a notebook, it may have no file
                faulthandler.dump_traceback_later(self.deadline * _DUMPED_AFTER, file=sys.__stderr__ or 2)

    def lap(self) -> None:
        """Measures the step that ends now. Call it before `step`.

        The first step after something else is left out: it may be compiled, and fill buffers of data.
        """
        waited, before = exchange_seconds(), self._waited
        if self._last is not None and before is not None:
            self.recent.add(time.monotonic() - self._last, waited - before)
        self._waited = waited

    def stop(self) -> None:
        """No step follows soon."""
        if self._last is not None and self.deadline is not None:
            faulthandler.cancel_dump_traceback_later()
        self._last, self._armed, self._waited = None, 0.0, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leaves out the time of the block. After it, the clock starts anew, if it ran before."""
        runs = self._last is not None
        self.stop()
        yield
        if runs:
            self.step()

    def age(self) -> float | None:
        """Returns the seconds since the last step; None outside of steps."""
        last = self._last
        return None if last is None else time.monotonic() - last

    def heartbeat(self, step: int | None) -> Heartbeat:
        """Returns what the progress endpoint tells.

        Args:
            step: Steps finished.
        """
        age = self.age()
        place = _place() if age is not None and age >= _PLACE_AFTER else ""
        return Heartbeat(step=step, age=age, place=place, times=self.recent.times())


def _place() -> str:
    """Returns where the main thread is: in a file of the program, if there is one in its stack, or in the last one."""
    innermost = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001  has no public name
    frame = innermost
    while frame and frame.f_back and not _is_own(frame):
        frame = frame.f_back
    found = frame if frame and _is_own(frame) else innermost
    return f"{Path(found.f_code.co_filename).name}:{found.f_lineno} in {found.f_code.co_name}" if found else ""


def _is_own(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not file.startswith((*_LIBRARIES, "<")) and "qtj_trainer" not in file


class _Sample(NamedTuple):
    seconds: float
    waited: float
    steps: int


class RecentSteps:
    """How long the last steps took, and how much of it this process did not wait for its peers.

    The caller leaves out steps in which something else happened.
    """

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
