"""The decision of one pass: in each stage of a job's life, the first policy that returns a verdict decides.

A verdict moves the record (a new attempt, the weights, an end) and changes nothing else, or makes the cluster match the
record, or waits. So a crash between the two is always safe: the next pass reads the record and continues. The status
follows from what was observed and what was decided.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason, is_over, is_true
from qtj_operator.api.job import Job
from qtj_operator.api.status import Status
from qtj_operator.core.backing_off import backing_off
from qtj_operator.core.decision import Act, Decision, Delete, Event, Kind, Move, Verdict, Wait, earliest
from qtj_operator.core.events import events_between
from qtj_operator.core.finished import finished
from qtj_operator.core.incomplete import drifted, incomplete
from qtj_operator.core.inferring import inferring
from qtj_operator.core.invalid_spec import invalid_spec
from qtj_operator.core.leaving import leaving
from qtj_operator.core.lone_replica import lone_replica, next_replacement
from qtj_operator.core.lost_replica import lost_replica
from qtj_operator.core.no_progress import next_heartbeat, no_progress
from qtj_operator.core.observed import Observed
from qtj_operator.core.overdue import next_deadline, overdue
from qtj_operator.core.rechecked import rechecked
from qtj_operator.core.refused import refused
from qtj_operator.core.reminder import reminder
from qtj_operator.core.repaired import repaired_later
from qtj_operator.core.resized import resized
from qtj_operator.core.respecified import respecified
from qtj_operator.core.retried import retried
from qtj_operator.core.scaled_down import next_scale_down, scaled_down
from qtj_operator.core.scaled_up import next_scale_up, scaled_up
from qtj_operator.core.slow_start import next_look
from qtj_operator.core.started import started
from qtj_operator.core.status import closed, status_of
from qtj_operator.core.superseded import superseded
from qtj_operator.core.suspended import suspended
from qtj_operator.core.tensorboard import tensorboard
from qtj_operator.core.trained import trained

__all__ = ["await_status", "decide", "refuse", "stuck"]

Policy = Callable[[Observed, datetime], Verdict | None]

Timer = Callable[[Observed, Job, datetime], datetime | None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a job's life.

    Attributes:
        policies: Called in each pass, in this order; the first that returns a verdict decides.
        timers: Return when the next pass is due even if nothing happens, whatever was decided: from what was observed,
            and the job as it is after the pass.
    """

    policies: tuple[Policy, ...]
    timers: tuple[Timer, ...] = ()


NEW = Stage(
    policies=(
        invalid_spec,  # the spec can never run: fail once
        suspended,  # no pods, until it is resumed
        started,  # the first attempt
    ),
)
TRAINING = Stage(
    policies=(
        trained,  # the leader is done: record the weights
        suspended,  # no pods, until it is resumed
        overdue,  # a deadline has passed
        leaving,  # its namespace is being deleted: it goes with it
        respecified,  # the spec was changed before anything ran
        lost_replica,  # a member of the gang failed: next attempt, or give up
        no_progress,  # no replica takes a step: next attempt, or give up
        lone_replica,  # a replica that the others do not need failed: replace it
        resized,  # another number of replicas is asked for: next attempt
        scaled_down,  # places are missing for too long: next attempt, with fewer workers
        superseded,  # delete pods of an earlier attempt before new ones are created
        backing_off,  # a pause after a failure
        incomplete,  # Services first, then pods, all at once
        drifted,  # a Service differs from how it was built
        scaled_up,  # fewer workers than there may be: probe for places, then next attempt
    ),
    timers=(next_replacement, next_deadline, next_look, next_heartbeat, next_scale_down, next_scale_up),
)
INFERENCE = Stage(
    policies=(
        suspended,  # no pods, until it is resumed
        overdue,  # a deadline has passed
        leaving,  # its namespace is being deleted: it goes with it
        superseded,  # delete pods of an earlier attempt, which use machines
        inferring,  # inference, then Complete
    ),
    timers=(next_deadline, next_look),
)
OVER = Stage(
    policies=(
        rechecked,  # failed because of its spec, which is valid now
        retried,  # failed, and its author asks to continue
        finished,  # another inference is wanted, or pods are cleaned up
    ),
)


def stage_of(job: Job) -> Stage:
    """Returns the stage of a job by its status."""
    if job.is_over:
        return OVER
    if job.is_trained:
        return INFERENCE
    return TRAINING if job.status.attempt else NEW


def decide(seen: Observed, now: datetime) -> Decision:
    """Decides what to do about one job.

    Args:
        seen: The job and its children.
        now: The time, in UTC to the second.
    """
    if seen.job.managed_elsewhere:
        return Decision(actions=(), status=seen.job.status, events=(), wake_at=None)
    stage = stage_of(seen.job)
    verdict = next((v for policy in stage.policies if (v := policy(seen, now)) is not None), Wait())
    verdict = refused(seen, repaired_later(verdict, seen.repairs_due), now)
    beside = tensorboard(seen)
    status = status_of(seen, verdict, now).changed(tensorboard=beside.status)
    after = replace(seen.job, status=status)
    again = filter(None, (reminder(seen, status, now),))
    return Decision(
        actions=verdict.actions if isinstance(verdict, Act) else (),
        tensorboard_actions=beside.actions if _leaves_room(verdict) else (),
        asked=seen.asked,
        followers=seen.followers,
        status=status,
        events=(*events_between(seen.job.status, status), *verdict.events, *beside.events, *again),
        wake_at=earliest(_wake_at(verdict), beside.wake_at, *(timer(seen, after, now) for timer in stage.timers)),
    )


def _leaves_room(verdict: Verdict) -> bool:
    """Whether more may be done in this pass: not with a change of the record, nor with the deletion of the job."""
    match verdict:
        case Move():
            return False
        case Act():
            job = Kind.QUANTUM_TRAINING_JOB
            return not any(isinstance(action, Delete) and action.kind == job for action in verdict.actions)
        case Wait():
            return True


def _wake_at(verdict: Verdict) -> datetime | None:
    """Returns when the verdict asks for the next pass; after a move, it follows at once."""
    match verdict:
        case Move():
            return None
        case Act():
            return verdict.wake_at
        case Wait():
            return verdict.until


def refuse(before: Status, generation: int, message: str, now: datetime) -> Decision:
    """Decides about an object that cannot be read as a job."""
    status = closed(before, (conditions.failed(Reason.INVALID_SPEC, message),), generation, now)
    return Decision(actions=(), status=status, events=events_between(before, status), wake_at=None)


def await_status(before: Status, due: datetime) -> Decision:
    """Decides about a restored job whose status may still come: nothing is written to it until then."""
    message = "a backup tool has restored this job: it starts in a minute, unless its status comes before"
    event = Event("Normal", Reason.RESTORED, message)
    return Decision(actions=(), status=before, events=(event,), wake_at=due)


def stuck(before: Status, generation: int, message: str, now: datetime) -> Decision:
    """Decides about a job over which passes fail: nothing is known but that.

    A job that runs continues, and one that has ended stays as it is, so these have an event only.
    """
    goes_on = is_over(before.conditions) or is_true(before.conditions, ConditionType.RUNNING)
    if goes_on:
        event = Event("Warning", Reason.CHILD_REJECTED, message)
        return Decision(actions=(), status=before, events=(event,), wake_at=None)
    trained = is_true(before.conditions, ConditionType.TRAINED)
    fact = (conditions.not_complete if trained else conditions.not_running)(Reason.CHILD_REJECTED, message)
    status = closed(before, (fact,), generation, now)
    return Decision(actions=(), status=status, events=events_between(before, status), wake_at=None)
