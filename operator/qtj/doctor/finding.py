"""What `qtj doctor` finds: a line each."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level", "run_check"]


class Level(StrEnum):
    """How much it matters."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: What was looked at, in a word or two.
        level: How much it matters; what is missing stands in the way of `qtj run`.
        message: What was found.
        remedy: What to do; empty where nothing is to be done.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Returns the line for people."""
        return f"{self.level:<8} {self.check:<11} {self.message}{f': {self.remedy}' if self.remedy else ''}"


def run_check(check: str, look: Callable[[], Finding]) -> Finding:
    """Looks; and says so where even that fails, for a doctor has to cope with whatever is broken."""
    try:
        return look()
    except Exception as problem:  # noqa: BLE001
        said = " ".join(str(problem).split()) or "no more is known"
        return Finding(check, Level.WARNING, f"it cannot be looked at ({type(problem).__name__}: {said})")
