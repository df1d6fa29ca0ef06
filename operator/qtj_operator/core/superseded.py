"""Pods of an earlier attempt."""

from datetime import datetime

from qtj_operator.core.decision import Verdict
from qtj_operator.core.observed import Observed
from qtj_operator.core.removal import removal

__all__ = ["superseded"]


def superseded(seen: Observed, now: datetime) -> Verdict | None:
    """They go first: the gang starts anew only when none of the old one is left to answer its peers."""
    return removal(seen.superseded, now) if seen.superseded else None
