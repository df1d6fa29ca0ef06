"""`make test-faults`: every scenario with a fault at every write, at every watch event and at every pass.

A pass is interrupted by a restart, or reads what has changed since.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.client import Fault, Plan
from tests.faults.oracle import canonical
from tests.faults.scenarios import SCENARIOS, Scenario
from tests.faults.simulation import Delay, Life, Watch

BEHIND = (1, 2, 16)
"""By how many changes a pass reads too early: a request or a gang that was written since, a whole attempt."""


@dataclass(frozen=True)
class Case:
    """One scenario with one fault."""

    scenario: Scenario
    plan: Plan | None = None
    watch: Watch = field(default_factory=Watch)
    restart_before: int = -1
    delay: Delay = field(default_factory=Delay)

    def life(self) -> Life:
        """Plays it."""
        return Life(
            job=self.scenario.job(),
            script=self.scenario.script,
            deeds=self.scenario.deeds(),
            plan=self.plan,
            watch=self.watch,
            restart_before=self.restart_before,
            delay=self.delay,
        ).play()

    def __str__(self) -> str:
        if self.plan is not None:
            return f"{self.scenario.name}: {self.plan.fault} at write {self.plan.write}"
        if self.restart_before >= 0:
            return f"{self.scenario.name}: restart before pass {self.restart_before}"
        if self.delay != Delay():
            return f"{self.scenario.name}: pass {self.delay.number} reads what was {self.delay.changes} changes ago"
        if self.watch != Watch():
            return f"{self.scenario.name}: event {self.watch}"
        return self.scenario.name


def cases(scenario: Scenario, calm: Life) -> Iterator[Case]:
    """Yields the scenario with each fault that its life without faults has room for."""
    yield Case(scenario)
    for write in range(calm.client.writes):
        for fault in Fault:
            yield Case(scenario, Plan(write, fault))
    for event in range(calm.events):
        yield Case(scenario, watch=Watch(drop=event))
        yield Case(scenario, watch=Watch(double=event))
    for number in range(calm.passes):
        yield Case(scenario, restart_before=number)
        for changes in BEHIND:
            yield Case(scenario, delay=Delay(number, changes))


def divergence(case: Case, expected: dict[str, Any]) -> str | None:
    """Returns how a case differs from what it should be, or None."""
    try:
        life = case.life()
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        return f"{type(error).__name__}: {error}"
    if life.invariants.broken:
        return life.invariants.broken[0]
    if life.invariants.runs() > case.scenario.inferences:
        return f"inference ran {life.invariants.runs()} times"
    seen = canonical(life.store)
    return None if seen == expected else f"\n  {seen}\n  where without the fault it is\n  {expected}"


def main() -> int:
    """Runs all cases; returns the exit code."""
    run = failed = 0
    for scenario in SCENARIOS:
        calm = Case(scenario).life()
        expected = canonical(calm.store)
        phases = [job["phase"] for job in expected["jobs"]]
        if phases != ([] if scenario.phase is None else [scenario.phase]):
            print(f"FAIL {scenario.name} ends in {phases}, not in {scenario.phase}: {expected}")
            run, failed = run + 1, failed + 1
            continue
        for case in cases(scenario, calm):
            run += 1
            problem = divergence(case, expected)
            if problem is not None:
                failed += 1
                print(f"FAIL {case}: {problem}")
        print(f"{run:6} cases  {scenario.name}", flush=True)
    print(f"fault cases: {run} run, {failed} failed")
    return 1 if failed or not run else 0


if __name__ == "__main__":
    sys.exit(main())
