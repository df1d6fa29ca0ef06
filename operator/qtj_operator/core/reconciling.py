"""The conditions `Reconciling` and `Stalled`: whether an object is done, for programs that know nothing of its kind.

kstatus reads them, and with it Flux and `helm --wait`: `Reconciling` is "in progress", `Stalled` is "failed", and an
object with neither is done. The first that is true decides, so at most one is.
Source: sigs.k8s.io/cli-utils, pkg/kstatus/status/README.md.
"""

from collections.abc import Iterable, Iterator

from qtj_operator.api.conditions import ConditionType, Fact, Reason, deciding, find
from qtj_operator.api.status import Condition, Phase

__all__ = ["reconciling"]

_SETTLED = frozenset({Phase.COMPLETE, Phase.FAILED, Phase.SUSPENDED})
"""Phases in which the operator has nothing left to do; a suspended job is as its spec wants it."""


def reconciling(known: Iterable[Condition]) -> Iterator[Fact]:
    """Yields what follows from the other conditions: whether the operator is at work, and whether somebody must help.

    `Stalled` is left out of a job that never was.
    """
    known = tuple(known)
    phase, decisive = deciding(known)
    if decisive is None:
        return
    obstacle = _edited(known) or (decisive if phase == Phase.FAILED else None)
    cause = obstacle or decisive
    busy = phase not in _SETTLED and obstacle is None
    yield Fact(ConditionType.RECONCILING, status=busy, reason=cause.reason, message=cause.message)
    if obstacle is not None or find(known, ConditionType.STALLED):
        yield Fact(ConditionType.STALLED, status=obstacle is not None, reason=cause.reason, message=cause.message)


def _edited(known: Iterable[Condition]) -> Condition | None:
    """Returns what says that the job is another than the one that its spec asks for, if it is."""
    ignored = find(known, ConditionType.SPEC_IGNORED)
    edited = ignored is not None and ignored.status == "True" and ignored.reason == Reason.IMMUTABLE_FIELD_CHANGED
    return ignored if edited else None
