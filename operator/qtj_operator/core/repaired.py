"""What others edit is repaired after a pause, where it was repaired before."""

from dataclasses import replace
from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.core.decision import Act, Action, Restore, Verdict, act_or_wait, earliest

__all__ = ["repaired_later", "without_early_repairs"]


def repaired_later(verdict: Verdict, due: datetime | None) -> Verdict:
    """Returns a verdict without its repairs, unless they may be made now.

    Args:
        verdict: What was decided.
        due: When the next repair may be made; None for now.
    """
    if not isinstance(verdict, Act):
        return verdict
    actions, later = without_early_repairs(verdict.actions, due)
    if later is None:
        return verdict
    wake_at = earliest(verdict.wake_at, later)
    rest = act_or_wait(actions, wake_at, report=verdict.report, conditions=verdict.conditions)
    return replace(rest, events=tuple(event for event in verdict.events if event.reason != Reason.SERVICE_REPAIRED))


def without_early_repairs(
    actions: tuple[Action, ...], due: datetime | None
) -> tuple[tuple[Action, ...], datetime | None]:
    """Returns the actions that may be carried out now, and when those are due that may not; None if all may."""
    others = tuple(action for action in actions if due is None or not isinstance(action, Restore))
    return others, due if len(others) < len(actions) else None
