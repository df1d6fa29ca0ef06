"""What a pass writes into the status, field by field: a misspelt name is an error, and not a lost change."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final

from qtj_operator.api.platform_policy import PlatformPolicy
from qtj_operator.api.status import ElasticStatus, Failure, InferenceStatus, ProgressStatus, Status, WeightsStatus

__all__ = ["KEEP", "NO_CHANGE", "NO_REPORT", "Keep", "Report", "StatusChange", "new_attempt"]


class Keep(Enum):
    """Marks a field that keeps its value; None would empty it."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class _Change:
    def applied_to(self, status: Status) -> Status:
        """Returns the status with this change applied."""
        return status.changed(**self.values())

    def values(self) -> dict[str, Any]:
        """Returns the changed fields, with their new values."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in named if value is not KEEP}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange(_Change):
    """A change of the record: the fields of `Status` that get another value. Fields that are left out stay."""

    attempt: int | Keep = KEEP
    restarts: int | Keep = KEEP
    disruptions: int | Keep | None = KEEP
    restarts_since_checkpoint: int | Keep | None = KEEP
    checkpoint_step: int | Keep = KEEP
    retry: int | Keep = KEEP
    start_time: datetime | Keep = KEEP
    active_since: datetime | Keep = KEEP
    attempt_start_time: datetime | Keep | None = KEEP
    last_running_attempt: Keep | None = KEEP
    consecutive_failures: int | Keep | None = KEEP
    last_failure_time: datetime | Keep = KEEP
    peer_lost_time: Keep | None = KEEP
    platform_policy: PlatformPolicy | Keep = KEEP
    spec_digest: str | Keep = KEEP
    fixed_digest: str | Keep = KEEP
    elastic: ElasticStatus | Keep | None = KEEP
    failures: tuple[Failure, ...] | Keep = KEEP
    progress: ProgressStatus | Keep | None = KEEP
    metrics: Mapping[str, float] | Keep | None = KEEP
    weights: WeightsStatus | Keep | None = KEEP
    inference: InferenceStatus | Keep | None = KEEP
    report: str | Keep | None = KEEP

    def __or__(self, other: "StatusChange") -> "StatusChange":
        """Returns both changes; if both name a field, the other's value is used."""
        return replace(self, **other.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(_Change):
    """What the status reports about work in progress.

    The next pass observes the same again. So a report may accompany actions: a crash between the two loses nothing.
    """

    attempt_start_time: datetime | Keep = KEEP
    peer_lost_time: datetime | Keep = KEEP
    inference: InferenceStatus | Keep = KEEP


NO_CHANGE: Final = StatusChange()
NO_REPORT: Final = Report()


def new_attempt(number: int, *, leader_done: bool = False) -> StatusChange:
    """Returns the change that starts an attempt: fields of the status that describe one attempt are emptied.

    Args:
        number: Of the attempt.
        leader_done: Whether the leader has finished, so that its result stays.
    """
    begins = StatusChange(attempt=number, attempt_start_time=None, peer_lost_time=None)
    return begins if leader_done else begins | StatusChange(metrics=None, weights=None, report=None)
