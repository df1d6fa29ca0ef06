"""Pods of an earlier attempt."""

from datetime import datetime

from qtj_operator.core.decision import Act, Wait, act_or_wait
from qtj_operator.core.observed import Observed
from qtj_operator.core.removal import removal

__all__ = ["superseded"]


def superseded(seen: Observed, now: datetime) -> Act | Wait | None:
    """Pods of an earlier attempt are deleted first: new replicas must not connect to them."""
    if not seen.superseded:
        return None
    removed = removal(seen.superseded, now)
    return act_or_wait(removed.deletions, removed.wake_at)
