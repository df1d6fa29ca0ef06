"""Scenarios with a fault at each write, trouble with each event of the watches, and restarts between passes."""

from collections.abc import Iterator
from typing import Any

from tests.faults.branches import Branches
from tests.faults.client import Fault
from tests.faults.life import Life
from tests.faults.mishaps import Mishap
from tests.faults.oracle import MAX_EVENTS, canonical
from tests.faults.scenario import Scenario
from tests.faults.watches import Trouble

_OTHERS = [fault for fault in Fault if fault != Fault.CRASH_AFTER]
"""After a crash that follows a write, the next operator does not know of it: this finds most."""
_PASSES = 4
"""Before one of so many passes, the operator starts anew: after each write, another case has it crash."""


def divergences(scenario: Scenario, *, every_fault: bool) -> Iterator[str | None]:
    """Plays all cases of a scenario; yields for each how it differs from what it should be, or None.

    Args:
        scenario: The scenario.
        every_fault: Whether each write has every fault, each event of a watch every trouble, and each pass a restart
            before it, and not some of them in turn.
    """
    try:
        calm = Life(scenario, Branches()).play()
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        yield f"{scenario.name}: {type(error).__name__}: {error}"
        return
    expected = canonical(calm.store, scenario.drained)
    problem = _wrong_without_faults(scenario, expected) or _broken(scenario, calm)
    if problem is not None:
        yield problem
        return
    branches = Branches(_mishaps(calm, every_fault=every_fault) if scenario.faults else ())
    problem = "interrupted"
    try:
        problem = _divergence(scenario, branches, expected)
    finally:
        branches.ends(problem and f"{scenario.name}: {branches.mishap or 'nothing goes wrong'}: {problem}")
    yield from (problem, *branches.problems)
    yield from (f"{scenario.name}: {mishap}: it never came" for late in branches.to_come.values() for mishap in late)


def _wrong_without_faults(scenario: Scenario, expected: dict[str, Any]) -> str | None:
    """Returns how a life without faults differs from what the scenario says, or None."""
    phases = [job["phase"] for job in expected["jobs"]]
    if phases != ([] if scenario.phase is None else [scenario.phase]):
        return f"{scenario.name} ends in {phases}, not in {scenario.phase}: {expected}"
    if scenario.phase is None and expected["children"]:
        return f"{scenario.name}: {expected['children']} outlived the job"
    attempts = [job["attempt"] for job in expected["jobs"]]
    if scenario.attempts is not None and attempts != [scenario.attempts]:
        return f"{scenario.name} takes {attempts} attempts, not {scenario.attempts}: {expected}"
    return None


def _broken(scenario: Scenario, life: Life) -> str | None:
    """Returns what must never happen, and did."""
    invariants = life.operator.invariants
    if invariants.broken:
        return invariants.broken[0]
    if invariants.events > MAX_EVENTS * (scenario.attempts or 1):
        return f"{invariants.events} events"
    if invariants.runs() > scenario.inferences:
        return f"inference ran {invariants.runs()} times"
    return None


def _mishaps(calm: Life, *, every_fault: bool) -> Iterator[Mishap]:
    """Yields everything that can go wrong once in a life."""
    for write in range(calm.operator.client.writes):
        for fault in Fault if every_fault else (Fault.CRASH_AFTER, _OTHERS[write % len(_OTHERS)]):
            yield Mishap(("write", write), fault)
    troubles = [*Trouble]
    for event in range(calm.events):
        for trouble in troubles if every_fault else [troubles[event % len(troubles)]]:
            yield Mishap(("event", event), trouble)
    for number in range(0, calm.operator.passes, 1 if every_fault else _PASSES):
        yield Mishap(("pass", number))


def _divergence(scenario: Scenario, branches: Branches, expected: dict[str, Any]) -> str | None:
    """Plays a life; returns, in each process that parts from it too, how it differs from what it should be, or None."""
    try:
        life = Life(scenario, branches).play()
    except Exception as error:  # noqa: BLE001  whatever it is, it is a divergence
        return f"{type(error).__name__}: {error}"
    seen, problem = canonical(life.store, scenario.drained), _broken(scenario, life)
    if problem is not None or seen == expected or _was_never_seen(scenario, branches.mishap, seen, expected):
        return problem
    return f"\n  {seen}\n  where without the fault it is\n  {expected}"


def _was_never_seen(scenario: Scenario, mishap: Mishap | None, seen: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a pod has ended and vanished while its watch was behind, and so counts as lost: one disruption more.

    The Job controller prevents this with a finalizer on each pod. Ours have none, so that nothing ever holds them.
    """
    behind = mishap is not None and mishap.what in {Trouble.LATE, Trouble.STALLED, Trouble.LOST}
    jobs = [{**job, "attempt": job["attempt"] + 1, "disruptions": 1} for job in expected["jobs"]]
    return behind and bool(scenario.drained) and seen == {**expected, "jobs": jobs}
