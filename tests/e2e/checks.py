"""Counts checks and measurements, and prints each as it is made."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_BUSY = 3
"""A goal is for a machine with nothing else to do. A measurement fails only beyond so many times of it, and as many
times more as there are programs for each processor."""


class Checks:
    """The result of a run so far. Scenarios may run side by side: each line says which one it is of."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self._times: list[str] = []
        self._failures: list[str] = []
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def that(self, what: str, holds: object, seen: object = "") -> None:
        """Makes one check; `seen` is printed when it fails."""
        with self._lock:
            self.passed += bool(holds)
            self.failed += not holds
            if holds:
                self._print(f"ok   {what}")
            else:
                self._failures.append(self._print(f"FAIL {what}\n       seen: {seen}"))

    def equal(self, what: str, seen: object, expected: object, why: str = "") -> None:
        """Checks that two values are equal; `why` is printed too when they are not."""
        self.that(what, seen == expected, f"{seen!r}, expected {expected!r}{why and f'; {why}'}")

    def note(self, text: str) -> None:
        """Prints where we are."""
        with self._lock:
            self._print(f"     {text}")

    def timed(self, what: str, goal: float | None, begin: float, parts: Sequence[tuple[str, float | None]]) -> None:
        """Notes how long something took, for the summary.

        Args:
            what: What it was.
            goal: Seconds it may take on an idle machine; None where there is no goal.
            begin: When it began, by `time.monotonic`.
            parts: What it consists of, each with the moment of its end; None for what was not seen.
        """
        known = [(name, at) for name, at in parts if at is not None]
        total = known[-1][1] - begin
        before = [begin, *(at for _, at in known)]
        each = ", ".join(f"{name} {at - since:.1f}" for (name, at), since in zip(known, before, strict=False))
        wanted = "" if goal is None else f" of {goal:g}"
        load, processors = os.getloadavg()[0], os.cpu_count() or 1
        line = f"{what}: {total:.1f}{wanted} s ({each}; load {load:.1f} on {processors} processors)"
        self._times.append(line)
        self.that(line, goal is None or total <= _BUSY * goal * max(1.0, load / processors))

    @contextmanager
    def scenario(self, title: str) -> Iterator[None]:
        """Runs a scenario; one that cannot continue is one failed check, and the next still runs."""
        outer = getattr(self._of_thread, "title", "")
        self._of_thread.title = title
        begin = time.monotonic()
        self.note("starts")
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, the other scenarios and the summary must come
            self.that("it runs to its end", holds=False, seen=f"{type(error).__name__}: {error}")
        finally:
            self.note(f"took {time.monotonic() - begin:.1f} s")
            self._of_thread.title = outer

    @property
    def summary(self) -> str:
        """The last lines: what was measured, and once more what failed."""
        lines = ["times:", *(f"  {line}" for line in self._times)] if self._times else []
        lines += ["failed:", *self._failures] if self._failures else []
        return "\n".join([*lines, f"e2e: {self.passed + self.failed} checks, {self.failed} failed"])

    def _print(self, text: str) -> str:
        line = f"{time.monotonic() - self._begin:6.1f} [{getattr(self._of_thread, 'title', '')}] {text}"
        print(line, flush=True, file=sys.stdout)
        return line
