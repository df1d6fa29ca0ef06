"""The decision of one pass: in each stage of a job's life, the first policy with something to say decides.

A verdict moves the record (a new attempt, the weights, an end) and changes nothing else, or makes the world match the
record, or waits. So a crash between the two is always safe: the next pass reads the record and carries on. The status
follows from what was seen and what was decided.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.status import Status
from qtj_operator.core.backing_off import backing_off
from qtj_operator.core.decision import Act, Decision, Event, Move, Verdict, Wait, earliest
from qtj_operator.core.events import events_between
from qtj_operator.core.finished import finished
from qtj_operator.core.incomplete import drifted, incomplete
from qtj_operator.core.inferring import inferring
from qtj_operator.core.invalid_spec import invalid_spec
from qtj_operator.core.judged_again import judged_again
from qtj_operator.core.lone_replica import lone_replica, next_replacement
from qtj_operator.core.lost_replica import lost_replica
from qtj_operator.core.observed import Observed
from qtj_operator.core.overdue import next_deadline, overdue
from qtj_operator.core.retried import retried
from qtj_operator.core.started import started
from qtj_operator.core.status import closed, status_of
from qtj_operator.core.superseded import superseded
from qtj_operator.core.suspended import suspended
from qtj_operator.core.trained import trained

__all__ = ["decide", "refuse"]

Policy = Callable[[Observed, datetime], Verdict | None]

Timer = Callable[[Observed, Job, datetime], datetime | None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a job's life.

    Attributes:
        policies: What is asked in each pass; the first with something to say decides.
        timers: When to look again although nothing happens, whatever was decided: from what was seen, and the job as it
            is after the pass.
    """

    policies: tuple[Policy, ...]
    timers: tuple[Timer, ...] = ()


NEW = Stage(
    policies=(
        invalid_spec,  # the spec can never run: fail once
        suspended,  # no pods, until it is resumed
        started,  # first sight: attempt 1
    ),
    timers=(next_deadline,),
)
TRAINING = Stage(
    policies=(
        trained,  # the leader is done: note the weights
        suspended,  # no pods, until it is resumed
        overdue,  # a deadline has passed
        lost_replica,  # a member of the gang ended badly: next attempt, or give up
        lone_replica,  # a replica that the others can do without ended badly: replace it
        superseded,  # pods of an earlier attempt go before new ones come
        backing_off,  # not so soon after a failure
        incomplete,  # Services first, then pods, all at once
        drifted,  # a Service no longer looks as built
    ),
    timers=(next_replacement, next_deadline),
)
INFERENCE = Stage(
    policies=(
        suspended,  # no pods, until it is resumed
        overdue,  # a deadline has passed
        superseded,  # pods of an earlier attempt hold machines
        inferring,  # inference, then Complete
    ),
    timers=(next_deadline,),
)
OVER = Stage(
    policies=(
        judged_again,  # failed for its spec alone, which is in order now
        retried,  # failed, and its author wants it to go on
        finished,  # another inference is wanted, or leftovers are cleaned up
    ),
    timers=(next_deadline,),
)


def stage_of(job: Job) -> Stage:
    """Returns where in its life the job is, as its status has it."""
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
    status = status_of(seen, verdict, now)
    after = replace(seen.job, status=status)
    return Decision(
        actions=verdict.actions if isinstance(verdict, Act) else (),
        status=status,
        events=(*events_between(seen.job.status, status), *_events(verdict)),
        wake_at=earliest(_wake_at(verdict), *(timer(seen, after, now) for timer in stage.timers)),
    )


def _events(verdict: Verdict) -> tuple[Event, ...]:
    return () if isinstance(verdict, Wait) else verdict.events


def _wake_at(verdict: Verdict) -> datetime | None:
    """Returns when the verdict itself wants another look; after a move, the next pass follows at once."""
    match verdict:
        case Move():
            return None
        case Act():
            return verdict.wake_at
        case Wait():
            return verdict.until


def refuse(before: Status, generation: int, sentence: str, now: datetime) -> Decision:
    """Decides about an object that cannot even be read as a job."""
    status = closed(before, (conditions.failed(Reason.INVALID_SPEC, sentence),), generation, now)
    return Decision(actions=(), status=status, events=events_between(before, status), wake_at=None)
