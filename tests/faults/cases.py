"""Every scenario with a fault at every write, at every watch event and at every pass.

A pass is interrupted by a restart, or reads what has changed since.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.client import Fault, Plan
from tests.faults.oracle import MAX_EVENTS, canonical
from tests.faults.scenarios import Scenario
from tests.faults.simulation import Delay, Life, Mishap, Watch

BEHIND = (1, 2, 16)
"""By how many changes a pass reads too early: a request or a gang that was written since, a whole attempt."""


@dataclass(frozen=True)
class Case:
    """One scenario with one mishap."""

    scenario: Scenario
    mishap: Mishap = field(default_factory=Mishap)

    def life(self) -> Life:
        """Plays it."""
        return Life(self.scenario.job(), self.scenario.script, self.scenario.deeds(), self.mishap).play()

    def __str__(self) -> str:
        return f"{self.scenario.name}: {self.mishap}"


def divergences(scenario: Scenario) -> Iterator[str | None]:
    """Plays all cases of a scenario; yields for each how it differs from what it should be, or None."""
    calm = Case(scenario).life()
    expected = canonical(calm.store)
    phases = [job["phase"] for job in expected["jobs"]]
    if phases != ([] if scenario.phase is None else [scenario.phase]):
        yield f"{scenario.name} ends in {phases}, not in {scenario.phase}: {expected}"
        return
    for mishap in _mishaps(calm):
        case = Case(scenario, mishap)
        problem = _divergence(case, expected)
        yield None if problem is None else f"{case}: {problem}"


def _mishaps(calm: Life) -> Iterator[Mishap]:
    """Yields everything that can go wrong once in a life."""
    yield Mishap()
    for write in range(calm.operator.client.writes):
        for fault in Fault:
            yield Mishap(Plan(write, fault))
    for event in range(calm.events):
        yield Mishap(watch=Watch(drop=event))
        yield Mishap(watch=Watch(double=event))
    for number in range(calm.operator.passes):
        yield Mishap(restart_before=number)
        for changes in BEHIND:
            yield Mishap(delay=Delay(number, changes))


def _divergence(case: Case, expected: dict[str, Any]) -> str | None:
    """Returns how a case differs from what it should be, or None."""
    try:
        life = case.life()
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        return f"{type(error).__name__}: {error}"
    invariants = life.operator.invariants
    if invariants.broken:
        return invariants.broken[0]
    if invariants.events > MAX_EVENTS:
        return f"{invariants.events} events"
    if invariants.runs() > case.scenario.inferences:
        return f"inference ran {invariants.runs()} times"
    seen = canonical(life.store)
    return None if seen == expected else f"\n  {seen}\n  where without the fault it is\n  {expected}"
