"""Reads what the events say about pods of a job: one that takes long to start, and one that ended with 0.

Whether the kubelet has killed a program that ended with 0, its pod does not always tell. A pod that is evicted is
`Succeeded` if its program obeys SIGTERM with exit code 0 (seen with a kubelet of Kubernetes 1.34), and so is one whose
liveness probe fails. The kubelet writes an event before it kills a container, and none if the container ends by itself.
A program that names its weights has done its work, so it is not asked for.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from qtj_contract import printable
from qtj_operator.api.job import Job
from qtj_operator.api.run_policy import SuccessPolicy
from qtj_operator.controller.client import ApiError, Client, Object
from qtj_operator.core.observed import Observed, Told
from qtj_operator.core.pod import Pod
from qtj_operator.core.slow_start import slow_pod, starting_pods

__all__ = ["Killed", "LastEvents", "message_of", "time_of", "with_killed", "with_told"]

_PAUSE = timedelta(seconds=30)
_LONGEST = 500
_BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class LastEvents:
    """What was read last.

    Attributes:
        uid: Of which pod.
        due: When its events are read again.
        told: What the last one says, if there is one.
    """

    uid: str = ""
    due: datetime = _BEGINNING
    told: Told | None = None


async def with_told(client: Client, seen: Observed, last: LastEvents, now: datetime) -> Observed:
    """Returns what was seen, with the last event about the pod that takes long to start; most passes ask nothing.

    An operator that may not read events, or gets no answer, does without.
    """
    pod = slow_pod(starting_pods(seen), now)
    if pod is None:
        return seen
    if pod.uid != last.uid or last.due <= now:
        last.uid, last.due, last.told = pod.uid, now + _PAUSE, None
        with suppress(ApiError):
            last.told = _last(await client.events_about(seen.job.namespace, pod.uid))
    return replace(seen, told=last.told)


def _last(events: Sequence[Object]) -> Told | None:
    event = max(events, key=time_of, default=None)
    if event is None:
        return None
    return Told(event.get("type") == "Warning", str(event.get("reason") or "no reason"), message_of(event).rstrip("."))


def message_of(event: Object) -> str:
    """Returns what an event says, in one line."""
    return printable(" ".join(str(event.get("message") or "").split()))[:_LONGEST]


def time_of(event: Mapping[str, Any]) -> datetime:
    """Returns when an event was last seen; events of events.k8s.io have other fields than older ones.

    See `printEvent` of kubectl (Kubernetes 1.34, pkg/printers/internalversion/printers.go).
    """
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    for time in (*times, event.get("firstTimestamp"), (event.get("metadata") or {}).get("creationTimestamp")):
        with suppress(ValueError):
            return datetime.fromisoformat(str(time))
    return _BEGINNING


_KILLING, _KILLED, _EVICTED = "Killing", "Killed", "Evicted"

Killed = dict[str, tuple[str, str] | None]
"""By the uid of a pod, why the kubelet has killed its program, as a reason and a sentence, or None if it has not."""


async def with_killed(client: Client, seen: Observed, known: Killed) -> Observed:
    """Returns what was seen, where programs that were killed have not ended by themselves.

    An operator that may not read events, or gets no answer, does without.

    Args:
        client: The cluster.
        seen: What was seen.
        known: What is known from earlier passes: it is asked once for each pod.
    """
    asked = [pod for pod in seen.current if _is_in_doubt(seen, pod)]
    for pod in asked:
        if pod.uid not in known:
            known[pod.uid] = await _why_killed(client, seen.job, pod)
    killed = {pod.name: why for pod in asked if (why := known[pod.uid])}
    if not killed:
        return seen
    return replace(seen, pods=tuple(_killed(pod, killed[pod.name]) if pod.name in killed else pod for pod in seen.pods))


def _is_in_doubt(seen: Observed, pod: Pod) -> bool:
    """Whether its success decides about the training, and is recorded neither by the program nor in the status."""
    decides = pod.replica == seen.job.leader or seen.job.policy.success != SuccessPolicy.LEADER
    is_named = pod.ending is not None and pod.ending.names_weights
    return decides and pod.succeeded and not is_named and pod.replica not in seen.finished


async def _why_killed(client: Client, job: Job, pod: Pod) -> tuple[str, str] | None:
    events: list[Object] = []
    with suppress(ApiError):
        events += await client.events_about(job.namespace, pod.uid)
    kills = [event for event in events if _kills(event, job, pod)]
    if not kills:
        return None
    evicted = [event for event in events if event.get("reason") == _EVICTED]
    return _EVICTED if evicted else _KILLED, message_of((evicted or kills)[-1])


def _kills(event: Object, job: Job, pod: Pod) -> bool:
    """Whether it says that the kubelet kills the container that trains, and not another one of the pod."""
    if pod.replica is None:
        return False
    main = job.template(pod.replica.role).spec.main.name
    where = (event.get("involvedObject") or {}).get("fieldPath")
    return event.get("reason") == _KILLING and where == f"spec.containers{{{main}}}"


def _killed(pod: Pod, why: tuple[str, str]) -> Pod:
    reason, text = why
    ending = pod.ending
    return pod if ending is None else replace(pod, ending=replace(ending, reason=reason, text=text, by_kubelet=True))
