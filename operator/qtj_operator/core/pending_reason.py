"""Why a pod does not start, or why a pod that blocks it is not deleted."""

from collections.abc import Iterable
from datetime import datetime

from qtj_operator.api.conditions import Reason
from qtj_operator.core.image_pull import PULL_REASONS, not_pulled
from qtj_operator.core.pod import Pod
from qtj_operator.core.removal import held_up

__all__ = ["pending_reason", "terminating_reason"]

_STARTING = {"ContainerCreating", "PodInitializing"}


def pending_reason(pod: Pod) -> tuple[Reason, str] | None:
    """Returns why a pod does not start, with one sentence; None if it starts within seconds."""
    if pod.gates:
        return Reason.QUEUED, f"{pod.name} waits to be admitted by its queue (scheduling gate {', '.join(pod.gates)})"
    if pod.unscheduled:
        return Reason.UNSCHEDULABLE, f"no node can run {pod.name}: {pod.unscheduled}"
    waiting = pod.waiting
    if waiting is None or waiting.reason in _STARTING:
        return None
    if waiting.reason in PULL_REASONS:
        return Reason.IMAGE_NOT_PULLED, not_pulled(pod, waiting)
    return Reason.CONTAINER_NOT_STARTED, f"{pod.name} cannot start ({waiting.reason}): {waiting.message}"


def terminating_reason(pods: Iterable[Pod], now: datetime) -> tuple[Reason, str] | None:
    """Returns why the deletion of one of the pods is late, with one sentence; None if that is unknown."""
    sentence = next((why for pod in pods if (why := held_up(pod, now)) is not None), None)
    return None if sentence is None else (Reason.TERMINATING, sentence)
