"""What a report shows of a job itself and of its events, on this machine and on a cluster.

The time by stage follows from events and from the activities of the program, and so do the attempts:

start ─▶ starting ─▶ running: loading TensorFlow ─▶ ... ─▶ training ─▶ storing ─▶ inferring ─▶ end
            ▲            │
            └─ restarting, suspended, failed (until a retry): after each of them the next attempt begins
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import yaml

from qtj.local.hidden import shown
from qtj.runs.summary import step_text
from qtj.terminal.text import shell_word
from qtj_operator.api.conditions import FAILURES, Reason
from qtj_operator.api.job import main_container
from qtj_operator.api.names import KIND, NEWEST_API_VERSION
from qtj_operator.api.status import ProgressStatus, Status
from qtj_operator.core.step_times import straggler_text
from qtj_report.content import Attempt, Content, Repetition, Stage

__all__ = ["Moment", "attempts_of", "in_utc", "job_content", "moments_of", "stages_of", "with_course"]

_WIDTH = 100
"""Of the YAML of a job, in columns."""
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


def job_content(title: str, phase: str, headline: str, job: Mapping[str, Any], status: Status) -> Content:
    """Returns what a job itself tells.

    Args:
        title: Its name, with the number of its run if it has one.
        phase: Its phase, or Interrupted.
        headline: How it ended, or its current state.
        job: The job, with its spec as its author wrote it.
        status: Its status.
    """
    progress = status.progress or ProgressStatus(epoch=0)
    inferred = (status.inference and status.inference.metrics) or {}
    return Content(
        title=title,
        phase=phase,
        headline=headline,
        asked=progress.epochs or None,
        done=progress.epoch,
        last_loss=progress.loss,
        kept_epoch=(status.weights and progress.best_epoch) or None,
        step=step_text(status.steps),
        stragglers=[straggler_text(each) for each in (status.steps.stragglers if status.steps else ())],
        metrics=inferred or status.metrics or {},
        measured_by="inference" if inferred else "training",
        failures=status.failures,
        replicas={role: each.desired for role, each in status.replicas.items()},
        resources=_requested(job),
        weights_sha256=(status.weights and status.weights.sha256) or "",
        repetition=_repetition(job),
    )


def with_course(found: Content, status: Status, moments: Sequence[Moment], end: datetime) -> Content:
    """Adds when a job began, how long it took, and its stages and attempts.

    Args:
        found: What else is known of it.
        status: Its status.
        moments: What happened, in order; without any, neither stages nor attempts are known.
        end: The time up to which it is known, if it has not ended.
    """
    if status.start_time is None:
        return found
    began = in_utc(status.start_time)
    end = in_utc(status.completion_time) if status.completion_time else end
    return replace(
        found,
        began=began,
        seconds=max(0.0, (end - began).total_seconds()),
        stages=stages_of(began, moments, end),
        attempts=attempts_of(began, moments, end) or found.attempts,
    )


def in_utc(at: datetime) -> datetime:
    """Returns a time that may have been edited by hand, so that it can be compared."""
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _repetition(job: Mapping[str, Any]) -> Repetition:
    """Returns a job without what the API server and the operator have added, and the command that runs it."""
    job = shown(job)
    meta = {key: job["metadata"][key] for key in ("name", "labels", "annotations") if key in job["metadata"]}
    manifest = {"apiVersion": NEWEST_API_VERSION, "kind": KIND, "metadata": meta, "spec": job["spec"]}
    file = f"{meta['name']}.yaml"
    text = yaml.safe_dump(manifest, sort_keys=False, width=_WIDTH, allow_unicode=True)
    return Repetition(file, f"qtj run {shell_word(file)}", text)


def _requested(job: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Returns requests and limits of a replica, as far as the template has them; the record may have been edited."""
    try:
        resources = main_container(job["spec"]["template"]["spec"]["containers"])["resources"]
        return {f"{kind} of a replica": dict(resources[kind]) for kind in ("requests", "limits") if kind in resources}
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return {}


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
