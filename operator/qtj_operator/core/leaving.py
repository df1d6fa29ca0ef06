"""A namespace that is being deleted: its pods, its Services and its jobs are deleted in any order."""

from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.core.decision import Wait
from qtj_operator.core.observed import Observed

__all__ = ["leaving"]


def leaving(seen: Observed, _now: datetime) -> Wait | None:
    """Nothing can be created there any more, so nothing that is deleted is replaced."""
    if not seen.namespace_ends:
        return None
    message = f"namespace {seen.job.namespace} is being deleted, and this job with it"
    told = conditions.not_complete if seen.job.is_trained else conditions.not_running
    return Wait(conditions=(told(Reason.TERMINATING, message),))
