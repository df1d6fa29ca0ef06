"""Counts checks and prints each as it is made."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Checks:
    """The result of a run so far."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self._begin = time.monotonic()

    def that(self, what: str, holds: object, seen: object = "") -> None:
        """Makes one check; `seen` is printed when it fails."""
        if holds:
            self.passed += 1
        else:
            self.failed += 1
        mark = "ok  " if holds else "FAIL"
        self._print(f"{mark} {what}" + ("" if holds else f"\n       seen: {seen}"))

    def equal(self, what: str, seen: object, expected: object) -> None:
        """Checks that two values are equal."""
        self.that(what, seen == expected, f"{seen!r}, expected {expected!r}")

    def note(self, text: str) -> None:
        """Prints a measurement, or where we are."""
        self._print(f"     {text}")

    @contextmanager
    def scenario(self, title: str) -> Iterator[None]:
        """Runs a scenario; one that cannot go on is one failed check, and the next still runs."""
        self._print(f"==== {title}")
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, the other scenarios and the summary must come
            self.that(f"{title}: runs to its end", holds=False, seen=f"{type(error).__name__}: {error}")

    @property
    def summary(self) -> str:
        """The last line."""
        return f"e2e: {self.passed + self.failed} checks, {self.failed} failed"

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._begin:6.1f} {text}", flush=True, file=sys.stdout)
