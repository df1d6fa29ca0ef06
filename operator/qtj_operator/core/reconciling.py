"""The conditions `Reconciling` and `Stalled`: whether an object is done, for programs that do not know its kind.

kstatus reads them, and with it Flux and Helm 4: `Reconciling` means "in progress", `Stalled` means "failed", and
an object with neither is done. kstatus uses the first that is true, so at most one of them is true.
Source: sigs.k8s.io/cli-utils, pkg/kstatus/status/README.md.
"""

from collections.abc import Iterable, Iterator

from qtj_operator.api.conditions import ConditionType, Fact, Reason, decisive, find
from qtj_operator.api.status import Condition, Phase

__all__ = ["reconciling"]

_SETTLED = frozenset({Phase.COMPLETE, Phase.FAILED, Phase.SUSPENDED})
"""Phases in which the operator has nothing left to do; a suspended job is in the state that its spec asks for."""


def reconciling(present: Iterable[Condition]) -> Iterator[Fact]:
    """Yields what follows from the other conditions: whether the operator has work, and whether a person must act.

    A job that was never stalled has no condition `Stalled`.
    """
    present = tuple(present)
    phase, explanation = decisive(present)
    if explanation is None:
        return
    obstacle = _edited(present) or (explanation if phase == Phase.FAILED else None)
    cause = obstacle or explanation
    busy = phase not in _SETTLED and obstacle is None
    yield Fact(ConditionType.RECONCILING, status=busy, reason=cause.reason, message=cause.message)
    if obstacle is not None or find(present, ConditionType.STALLED):
        yield Fact(ConditionType.STALLED, status=obstacle is not None, reason=cause.reason, message=cause.message)


def _edited(present: Iterable[Condition]) -> Condition | None:
    """Returns the condition which reports that a field was edited that cannot be changed, if one does."""
    ignored = find(present, ConditionType.SPEC_IGNORED)
    edited = ignored is not None and ignored.status == "True" and ignored.reason == Reason.IMMUTABLE_FIELD_CHANGED
    return ignored if edited else None
