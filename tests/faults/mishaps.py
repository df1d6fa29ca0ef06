"""What goes wrong in a life, and what is odd about its cluster."""

from dataclasses import dataclass, field
from datetime import timedelta

from tests.faults.admission import Denial
from tests.faults.client import Plan
from tests.faults.watches import Trouble


@dataclass(frozen=True, slots=True)
class Watch:
    """What happens to one event of the watches, counted from 0; nothing by default."""

    event: int = -1
    trouble: Trouble = Trouble.DOUBLED


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong in a life; nothing by default.

    Attributes:
        plan: A write that fails.
        restart_before: The pass before which the operator is restarted.
    """

    plan: Plan | None = None
    watch: Watch = field(default_factory=Watch)
    restart_before: int = -1

    def __str__(self) -> str:
        if self.plan is not None:
            return f"{self.plan.fault} at write {self.plan.write}"
        if self.restart_before >= 0:
            return f"restart before pass {self.restart_before}"
        if self.watch.event >= 0:
            return f"event {self.watch.event} {self.watch.trouble}"
        return "nothing goes wrong"


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
