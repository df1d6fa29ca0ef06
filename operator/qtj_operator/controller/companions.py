"""Carries out what accompanies a job: a refusal is reported, is tried again after a pause, and affects nothing else."""

from dataclasses import replace
from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.controller.act import act
from qtj_operator.controller.client import Client
from qtj_operator.controller.memory import JobMemory
from qtj_operator.core.decision import Decision, Event, earliest
from qtj_operator.core.events import tensorboard_events

__all__ = ["act_on_companions"]


async def act_on_companions(client: Client, job: Job, memory: JobMemory, decision: Decision, now: datetime) -> Decision:
    """Carries out the companions of a decision; returns it with what stands in their way.

    Raises:
        ApiError: The API server could not be reached, is too busy, or has another version of an object.
    """
    if not decision.companions:
        return decision
    allowed = memory.tensorboard_repairs.throttled(job, replace(decision, actions=decision.companions), now)
    decision = replace(decision, wake_at=allowed.wake_at)
    refusals = memory.tensorboard_refusals
    obstacle = refusals.standing(job, now)
    if obstacle is None or not obstacle.stops_any(allowed.actions):
        found = await act(client, job, allowed.actions)
        obstacle = refusals.add(job, found, now) if found else None
    if obstacle is None:
        refusals.clear()
        return decision
    return _blocked(job, decision, obstacle.message, obstacle.due)


def _blocked(job: Job, decision: Decision, message: str, due: datetime | None) -> Decision:
    """Returns the decision with the reason in the status, and an event if the reason is new."""
    reported, wake_at = decision.status.tensorboard, earliest(decision.wake_at, due)
    if reported is None:  # it cannot be removed; the API server keeps one event of each message
        event = Event("Warning", Reason.TENSORBOARD_NOT_READY, message)
        return replace(decision, events=(*decision.events, event), wake_at=wake_at)
    status = decision.status.changed(tensorboard=reported.changed(message=message))
    events = (*decision.events, *tensorboard_events(job.status, status))
    return replace(decision, status=status, events=events, wake_at=wake_at)
