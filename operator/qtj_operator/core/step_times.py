"""How long the steps of a gang take, and which replica the others wait for.

Replicas that exchange their gradients end each step together, so each tells how long its own part of a step takes::

    worker-0  own 0.2 s, waits 0.6 s
    worker-1  own 0.8 s                 a straggler: four times its peers, and they wait most of the step
    worker-2  own 0.2 s, waits 0.6 s

    worker-0  own 2 ms, exchange 60 ms
    worker-1  own 6 ms, exchange 56 ms  none: without it, a step would take as long

The numbers are medians of the last minute of steps, without compilation, checkpoints and evaluations, so a replica that
is slow in them was slow for long. The status has few numbers, whatever the size of the gang, and keeps them until they
differ much: a healthy gang causes no writes.
"""

from bisect import bisect_left
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from qtj_contract import StepTimes
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.status import ReplicaSteps, Status, StepsStatus, Straggler
from qtj_operator.core.median import median
from qtj_operator.core.observed import Observed

__all__ = ["new_stragglers", "slow_sentence", "step_times", "straggler_event", "straggler_text"]


class _Limit(NamedTuple):
    """What makes a straggler.

    Attributes:
        factor: How many times as long as the median of its peers it takes for its part.
        share: The part of a step that its peers lose with it.
    """

    factor: float
    share: float


_FOUND = _Limit(2.0, 0.2)
_KEPT = _Limit(1.5, 0.1)
"""Below this, it is one no more: a replica near a limit does not become one again and again."""

_STEPS = 20
_SPAN = 30.0
"""How many steps, and seconds of steps, a replica must have measured before it is compared."""

_LISTED = 8
_PAUSE = timedelta(minutes=1)
_CHANGE = 0.25
"""The part by which a number differs before the status is written for it."""

_SIGNIFICANT = 3


class _Gang:
    """What the replicas of a gang have told.

    Attributes:
        told: Their times.
    """

    def __init__(self, told: Mapping[ReplicaId, StepTimes]) -> None:
        self.told = told
        self._own = sorted(each.own for each in told.values() if _is_steady(each))

    def is_slow(self, replica: ReplicaId, limit: _Limit) -> bool:
        """Whether a replica takes much longer than its peers, and they lose much of each step with it."""
        times = self.told[replica]
        if not _is_steady(times) or len(self._own) == 1:
            return False
        peers = self.peers(replica)
        return times.own >= limit.factor * peers and times.own - peers >= limit.share * times.seconds

    def peers(self, replica: ReplicaId) -> float:
        """Returns the median of the own parts of the others. A gang may have a thousand members."""
        place, last = bisect_left(self._own, self.told[replica].own), len(self._own) - 2
        low, high = (self._own[each + (each >= place)] for each in (last // 2, (last + 1) // 2))
        return (low + high) / 2


def step_times(seen: Observed, attempt: int | None, now: datetime) -> StepsStatus | None:
    """Returns what the status has of the steps of an attempt, which is what it had if nothing has changed much.

    Args:
        seen: What was observed.
        attempt: The attempt after this pass.
        now: The time.
    """
    if attempt != seen.job.status.attempt:
        return None
    before = seen.job.status.steps
    told = {replica: heard.beat.times for replica, heard in seen.heard.items() if heard.beat and heard.beat.times}
    if not told or seen.job.is_over:
        return before
    stragglers = _stragglers(seen, _Gang(told), before.stragglers if before else (), now)
    after = _measured(told, stragglers, now)
    return before if before is not None and _is_still(before, after) else after


def slow_sentence(steps: StepsStatus | None) -> str:
    """Returns what a condition says about present stragglers; empty if there is none."""
    present = [each for each in (steps.stragglers if steps else ()) if each.until is None]
    if not present:
        return ""
    others = len(present) - 1
    return straggler_text(present[0]) + (f"; slow replicas besides: {others}" if others else "")


def straggler_text(straggler: Straggler) -> str:
    """Returns a sentence about a straggler."""
    own, peers = straggler.own_seconds, straggler.peer_seconds
    return f"{_named(straggler)} is slow: its part of a step takes {own:g} s, and that of its peers {peers:g} s"


def straggler_event(straggler: Straggler) -> str:
    """Returns what its event says: without numbers, so that it is one event also where the status cannot keep it."""
    return f"{_named(straggler)} is slow, and its peers wait for it: see status.steps"


def _named(straggler: Straggler) -> str:
    return straggler.replica + (f" on node {straggler.node}" if straggler.node else "")


def new_stragglers(before: Status, after: Status) -> list[Straggler]:
    """Returns the replicas that have become stragglers, each once in an attempt."""
    known = {each.replica for each in before.steps.stragglers} if before.steps else set()
    return [each for each in (after.steps.stragglers if after.steps else ()) if each.replica not in known]


def _stragglers(seen: Observed, gang: _Gang, before: tuple[Straggler, ...], now: datetime) -> tuple[Straggler, ...]:
    """Returns those that are known already, and new ones as far as there is room."""
    known = {each.replica for each in before}
    names = {_name(replica): replica for replica in gang.told}
    kept = [_continued(each, gang, names.get(each.replica), now) for each in before]
    slow = (each for each in gang.told if _name(each) not in known and gang.is_slow(each, _FOUND))
    nodes = {pod.replica: pod.node for pod in seen.stepping}
    found = (
        Straggler(
            replica=_name(replica),
            node=nodes.get(replica),
            own_seconds=_rounded(gang.told[replica].own),
            peer_seconds=_rounded(gang.peers(replica)),
            since=now,
        )
        for replica in sorted(slow, key=lambda each: -gang.told[each].own)
    )
    return (*kept, *found)[:_LISTED]


def _continued(straggler: Straggler, gang: _Gang, replica: ReplicaId | None, now: datetime) -> Straggler:
    """Returns a straggler with its end, if it has recovered, or without, if it is slow again."""
    if replica is None or not _is_steady(gang.told[replica]):
        return straggler
    if straggler.until is None:
        return straggler if gang.is_slow(replica, _KEPT) else straggler.changed(until=now)
    return straggler.changed(until=None) if gang.is_slow(replica, _FOUND) else straggler


def _is_steady(times: StepTimes) -> bool:
    return times.steps >= _STEPS and times.span >= _SPAN


def _measured(told: Mapping[ReplicaId, StepTimes], stragglers: tuple[Straggler, ...], now: datetime) -> StepsStatus:
    own = sorted(each.own for each in told.values())
    slowest = sorted(told, key=lambda replica: -told[replica].own)[:_LISTED]
    return StepsStatus(
        seconds=_rounded(median(each.seconds for each in told.values())),
        replicas=len(told),
        least_own_seconds=_rounded(own[0]),
        median_own_seconds=_rounded(median(own)),
        most_own_seconds=_rounded(own[-1]),
        slowest=tuple(ReplicaSteps(replica=_name(each), own_seconds=_rounded(told[each].own)) for each in slowest),
        stragglers=stragglers,
        time=now,
    )


def _is_still(before: StepsStatus, after: StepsStatus) -> bool:
    """Whether the status need not be written: a straggler counts at once, and numbers after a pause."""
    if before.stragglers != after.stragglers:
        return False
    if after.time - before.time < _PAUSE:
        return True
    pairs = zip(_numbers(before), _numbers(after), strict=True)
    return before.replicas == after.replicas and not any(_differs(*pair) for pair in pairs)


def _numbers(steps: StepsStatus) -> tuple[float, ...]:
    return steps.seconds, steps.least_own_seconds, steps.median_own_seconds, steps.most_own_seconds


def _differs(before: float, after: float) -> bool:
    return abs(after - before) > _CHANGE * max(before, after)


def _name(replica: ReplicaId) -> str:
    return f"{replica.role.task_type}-{replica.index}"


def _rounded(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT}g}")
