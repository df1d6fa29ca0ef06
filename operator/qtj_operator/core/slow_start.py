"""Pods that take long to start, and whose status does not say why: what the events about one of them say."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from qtj_contract.timestamps import rfc3339
from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.core.missing_program import missing_config_map
from qtj_operator.core.observed import Observed
from qtj_operator.core.pending_reason import pending_reason
from qtj_operator.core.pod import Pod

__all__ = ["SlowStart", "next_look", "slow_pod", "slow_start", "starting_pods"]

_PATIENCE = timedelta(minutes=1)
"""How long a pod may take to start before the job says so, and from one look at its events to the next."""


@dataclass(frozen=True, slots=True)
class SlowStart:
    """Why a pod takes long.

    Attributes:
        reason: Why it cannot start; None if it may only take its time, for example to pull a large image.
        message: The pod, since when it waits, and what is known.
    """

    reason: Reason | None
    message: str


def starting_pods(seen: Observed) -> tuple[Pod, ...]:
    """Returns the pods that the job waits for."""
    job = seen.job
    if job.is_over or job.is_suspended or job.is_running:
        return ()
    return (seen.inference.pods if seen.inference else ()) if job.is_trained else seen.current


def slow_pod(pods: Iterable[Pod], now: datetime) -> Pod | None:
    """Returns the pod that has waited longest, if that is long and its status does not say why."""
    waiting = ((pod.since, pod.name, pod) for pod in pods if pod.since and _waits(pod))
    since, _, pod = min(waiting, default=(now, "", None))
    return pod if pod and now - since >= _PATIENCE else None


def slow_start(seen: Observed, now: datetime) -> SlowStart | None:
    """Returns why a pod takes long to start; None if none does, or the status of one says why."""
    pod = slow_pod(starting_pods(seen), now)
    if pod is None or pod.since is None:
        return None
    waits = f"{pod.name} has not started since {rfc3339(pod.since)}"
    if seen.told is not None:
        failed = Reason.UNSCHEDULABLE if pod.unseen_by else Reason.CONTAINER_NOT_STARTED
        known = missing_config_map(seen.job, seen.told.message)
        what = f"{waits}: {known}" if known else f"{waits} ({seen.told.reason}): {seen.told.message}"
        return SlowStart(failed if seen.told.is_warning else None, what)
    if pod.unseen_by:
        why = f"the scheduler {pod.unseen_by} has not looked at it: check that it runs, or correct schedulerName"
        return SlowStart(Reason.UNSCHEDULABLE, f"{waits}, and {why}")
    return SlowStart(None, f"{waits}: kubectl qtj events {seen.job.name} shows more")


def next_look(seen: Observed, after: Job, now: datetime) -> datetime | None:
    """Returns when a pod has taken long, or its events are worth another look; None if nothing is to start."""
    pods = () if after.is_running or after.is_over else starting_pods(seen)
    dues = [pod.since + _PATIENCE for pod in pods if pod.since and _waits(pod)]
    return max(min(dues), now + _PATIENCE if min(dues) <= now else now) if dues else None


def _waits(pod: Pod) -> bool:
    starts = pod.phase == "Pending" and not pod.deleting and pod.ending is None
    return starts and pending_reason(pod) is None
