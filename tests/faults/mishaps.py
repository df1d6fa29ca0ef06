"""What goes wrong in a life, and what is odd about its cluster."""

from dataclasses import dataclass
from datetime import timedelta

from tests.faults.admission import Denial
from tests.faults.client import Fault
from tests.faults.watches import Trouble

Moment = tuple[str, int]
"""A write, an event of the watches, or a pass, and its number, counted from 0."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong in a life.

    Attributes:
        moment: When: at this write or event, or before this pass.
        what: What happens to the write or to the event; before a pass, the operator is restarted.
    """

    moment: Moment
    what: Fault | Trouble | None = None

    def __str__(self) -> str:
        kind, number = self.moment
        if kind == "write":
            return f"{self.what} at write {number}"
        return f"event {number} {self.what}" if kind == "event" else f"restart before pass {number}"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is odd about a cluster; nothing by default.

    Attributes:
        mesh: Whether a webhook adds to Services and pods.
        operator_clock: By how much the clock of the operator's machine is ahead.
        denial: Who denies pods, until somebody puts an end to it.
        spared: The pods that are admitted all the same.
        held: Whether the queue admits nothing, until somebody opens it.
    """

    mesh: bool = False
    operator_clock: timedelta = timedelta(0)
    denial: Denial | None = None
    spared: frozenset[str] = frozenset()
    held: bool = False
