"""The result of one check of `qtj doctor`, and its line."""

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
    """The result of one check.

    Attributes:
        check: What was checked, as a short name.
        level: How much it matters; `qtj run` needs what is missing.
        message: The result.
        remedy: What to do; empty if there is nothing to do.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Returns the line for people."""
        return f"{self.level:<8} {self.check:<11} {self.message}{f': {self.remedy}' if self.remedy else ''}"


def run_check(check: str, check_it: Callable[[], Finding]) -> Finding:
    """Runs a check. One that raises becomes a warning: the cause may be the defect of this machine.

    A check that ends by a TimeoutError says nothing about what it looked at, for example an import on a busy machine.
    """
    try:
        return check_it()
    except TimeoutError as problem:
        return Finding(check, Level.WARNING, f"not checked: {problem}", "try again when this machine is less busy")
    except Exception as problem:  # noqa: BLE001
        reason = " ".join(str(problem).split()) or "without a message"
        return Finding(check, Level.WARNING, f"it cannot be checked ({type(problem).__name__}: {reason})")
