"""Pods of an earlier attempt."""

from datetime import datetime

from qtj_operator.core.decision import Delete, Kind, Verdict
from qtj_operator.core.observed import Observed

__all__ = ["superseded"]


def superseded(seen: Observed, _now: datetime) -> Verdict | None:
    """They go first: the gang starts anew only when none of the old one is left to answer its peers."""
    if not seen.superseded:
        return None
    return Verdict(actions=tuple(Delete(Kind.POD, p.name, p.uid) for p in seen.superseded if not p.deleting))
