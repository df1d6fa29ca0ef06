"""The time of a run by stage, and its attempts, both from its events and from the activities of its program.

start ─▶ starting ─▶ running: loading TensorFlow ─▶ ... ─▶ training ─▶ storing ─▶ inferring ─▶ end
            ▲            │
            └─ restarting, suspended, failed (until a retry): after each of them the next attempt begins
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qtj_operator.api.conditions import FAILURES, Reason
from qtj_report.content import Attempt, Stage

__all__ = ["Moment", "attempts_of", "moments_of", "stages_of"]

_RUNNING = "running"
_STAGES: Mapping[str, str] = {
    Reason.ALL_REPLICAS_READY: _RUNNING,
    Reason.RESTARTING: "restarting",
    Reason.SUSPENDED: "suspended",
    Reason.RESUMED: "starting",
    Reason.RETRIED: "starting",
    Reason.WEIGHTS_STORED: "inferring",
    Reason.NO_WEIGHTS: "inferring",
    Reason.TRAINED_IN_PART: "inferring",
    Reason.INFERRING: "inferring",
    # A waiting job also has an event for a refused child.
    **dict.fromkeys((reason for reason in FAILURES if reason != Reason.CHILD_REJECTED), "failed"),
    Reason.SPEC_CHANGED: "failed",
}
_ENDS_OF_ATTEMPTS = {"restarting", "suspended", "failed", "inferring"}
_TRAINED = {Reason.WEIGHTS_STORED, Reason.NO_WEIGHTS, Reason.TRAINED_IN_PART}
_NEXT_ATTEMPT = {Reason.RESTARTING, Reason.RESUMED, Reason.RETRIED}


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened in a run.

    Attributes:
        time: When.
        reason: The reason of an event; empty for an activity of the program.
        message: The message of the event, or the activity of the program: "" while it trains.
    """

    time: datetime
    reason: str
    message: str


def moments_of(events: Sequence[Mapping[str, Any]], activities: Sequence[tuple[datetime, str]]) -> Sequence[Moment]:
    """Returns what happened, in order.

    Args:
        events: The events of the job.
        activities: The activities that its program reported, with their times.
    """
    reported = [Moment(at, "", activity) for at, activity in activities]
    return sorted([*_dated(events), *reported], key=lambda each: each.time)


def stages_of(begin: datetime, moments: Sequence[Moment], end: datetime) -> Sequence[Stage]:
    """Returns the stages in the order in which they first began.

    Args:
        begin: When the operator started the job.
        moments: What happened since; without any, nothing is known.
        end: The end of the job, or the time up to which it is known.
    """
    if not moments:
        return ()
    took: dict[str, float] = {}
    changes = [(begin, "starting"), *_changes(moments)]
    ends = [*(time for time, _ in changes[1:]), end]
    for (time, name), until in zip(changes, ends, strict=True):
        took[name] = took.get(name, 0) + max(0.0, (until - time).total_seconds())
    return [Stage(name, seconds) for name, seconds in took.items() if seconds > 0]


def attempts_of(begin: datetime, moments: Sequence[Moment], end: datetime) -> Sequence[Attempt]:
    """Returns the attempts of the training; see `stages_of`."""
    return list(_attempts(begin, moments, end)) if moments else ()


def _changes(moments: Sequence[Moment]) -> Iterator[tuple[datetime, str]]:
    """Yields each stage with its beginning. An activity of the program counts only while the job is running."""
    stage = "starting"
    for moment in moments:
        after = _STAGES.get(moment.reason, stage)
        if after != stage:
            stage = after
            yield moment.time, stage
        elif stage == _RUNNING and not moment.reason:
            yield moment.time, moment.message or "training"


def _attempts(since: datetime, moments: Sequence[Moment], end: datetime) -> Iterator[Attempt]:
    number, is_active, is_trained = 1, True, False
    for moment in moments:
        if is_active and _STAGES.get(moment.reason) in _ENDS_OF_ATTEMPTS:
            yield Attempt(number, since, max(0.0, (moment.time - since).total_seconds()), moment.message)
            is_active = False
        is_trained = is_trained or moment.reason in _TRAINED  # inference is suspended or retried, not training
        if moment.reason in _NEXT_ATTEMPT:
            since = moment.time
        is_again = is_trained and moment.reason == Reason.ALL_REPLICAS_READY  # with more epochs
        if is_again or (moment.reason in _NEXT_ATTEMPT and not is_trained):
            number, is_active, is_trained = number + 1, True, False
    if is_active:
        yield Attempt(number, since, max(0.0, (end - since).total_seconds()))


def _dated(events: Sequence[Mapping[str, Any]]) -> Iterator[Moment]:
    """Yields the events that have a time, a reason and a message: those of the operator have."""
    for event in events:
        try:
            moment = Moment(datetime.fromisoformat(event["firstTimestamp"]), event["reason"], event["message"])
        except (KeyError, TypeError, ValueError):
            continue
        if moment.time.tzinfo:
            yield moment
