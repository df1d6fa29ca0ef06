"""The record of replicas that failed."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Failure
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Move
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["MAX_FAILURES", "described", "give_up", "reason_of", "times", "with_failures"]

MAX_FAILURES = 10
"""Failures kept in the status: enough to see a pattern, few enough to keep the object small."""


def with_failures(seen: Observed, pods: Iterable[Pod], now: datetime) -> tuple[Failure, ...]:
    """Returns the failures of the status and those of `pods`, each pod once.

    If there are too many, those whose pod is gone are dropped first: a pod that still exists must not be counted again.
    """
    recorded = seen.failures
    counted = {failure.uid for failure in recorded}
    failures = [*recorded, *(_failure(pod, now) for pod in pods if pod.uid not in counted)]
    present = {pod.uid for pod in seen.pods}
    order = sorted(range(len(failures)), key=lambda place: failures[place].uid in present)
    kept = order[max(len(failures) - MAX_FAILURES, 0) :]
    return tuple(failures[place] for place in sorted(kept))


def give_up(seen: Observed, lost: Sequence[Pod], reason: Reason, why: str, now: datetime) -> Move:
    """Returns the verdict that ends the job because of `lost`."""
    return Move(StatusChange(failures=with_failures(seen, lost, now)), conditions=(conditions.failed(reason, why),))


def described(pod: Pod) -> str:
    """Returns how a pod was lost, as the first half of a sentence."""
    if pod.ending is None:
        taken = pod.deleting or pod.disrupted
        return f"{pod.name} {'was preempted, evicted or deleted' if taken else 'is on a node that does not answer'}"
    if pod.ending.reason == Reason.NO_PROGRESS:
        return f"{pod.name} hangs: {pod.end_message}"
    return f"{pod.name} ended ({pod.ending.how}): {pod.end_message}"


def times(count: int) -> str:
    """Returns a number of times, in words."""
    return "once" if count == 1 else f"{count} times"


def reason_of(pod: Pod) -> str:
    """Returns why a pod was lost, as one word."""
    return pod.ending.reason if pod.ending else "Disrupted"


def _failure(pod: Pod, now: datetime) -> Failure:
    return Failure(
        pod=pod.name,
        uid=pod.uid,
        attempt=pod.attempt,
        node=pod.node,
        exit_code=pod.ending.exit_code if pod.ending else None,
        reason=reason_of(pod),
        message=pod.end_message,
        time=now,
    )
