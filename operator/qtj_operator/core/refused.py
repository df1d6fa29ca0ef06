"""What is decided where the API server has refused an action: it waits, and the status says why."""

from dataclasses import replace
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Fact, is_over, is_true
from qtj_operator.api.status import InferencePhase, Status
from qtj_operator.core.change import Report
from qtj_operator.core.decision import Act, Event, Move, Restore, Verdict, Wait, act_or_wait, earliest
from qtj_operator.core.editable import has_run
from qtj_operator.core.observed import Observed
from qtj_operator.core.status import NEVER_STARTED, status_of

__all__ = ["refused"]


def refused(seen: Observed, verdict: Verdict, now: datetime) -> Verdict:
    """Returns what is left of a verdict without the actions that would be refused again.

    A refusal does not concern a job that has ended, nor a gang that runs, because the gang does not need that child. It
    has an event then. If the API server finds a mistake in the template before anything has run, the job fails:
    nothing has started, so the template may still be changed, and the job is checked again.
    """
    obstacle = seen.obstacle
    if obstacle is None or not isinstance(verdict, Act) or not obstacle.stops_any(verdict.actions):
        return verdict
    actions = tuple(action for action in verdict.actions if not obstacle.stops(action))
    due = earliest(verdict.wake_at, obstacle.due)
    rest = act_or_wait(actions, due, report=verdict.report, conditions=verdict.conditions)
    status = status_of(seen, rest, now)
    if obstacle.kind is Restore or is_over(status.conditions) or is_true(status.conditions, ConditionType.RUNNING):
        told = (Event("Warning", obstacle.reason, obstacle.message),) if obstacle.is_new else ()
        return replace(rest, events=told)
    if is_true(status.conditions, ConditionType.TRAINED):
        return _with(rest, conditions.not_complete(obstacle.reason, obstacle.message), _pending(rest.report, status))
    if obstacle.malformed and not has_run(seen.job.status):
        return Move(conditions=(conditions.failed(obstacle.reason, obstacle.message), NEVER_STARTED))
    return _with(rest, conditions.not_running(obstacle.reason, obstacle.message), rest.report)


def _with(rest: Act | Wait, fact: Fact, report: Report) -> Act | Wait:
    others = (each for each in rest.conditions if each.type != fact.type)
    return replace(rest, conditions=(*others, fact), report=report)


def _pending(report: Report, status: Status) -> Report:
    """The refusal then delays inference."""
    inference = status.inference
    return replace(report, inference=inference.changed(phase=InferencePhase.PENDING)) if inference else report
