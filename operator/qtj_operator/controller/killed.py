"""Asks whether the kubelet has killed a program that ended with 0, which its pod does not always tell.

A pod that is evicted is `Succeeded` if its program obeys SIGTERM with exit code 0 (seen with a kubelet of Kubernetes
1.34), and so is one whose liveness probe fails. The kubelet writes an event before it kills a container, and none if
the container ends by itself. A program that names its weights has done its work, so it is not asked for.
"""

from contextlib import suppress
from dataclasses import replace

from qtj_operator.api.job import Job
from qtj_operator.api.run_policy import SuccessPolicy
from qtj_operator.controller.client import ApiError, Client, Object
from qtj_operator.controller.last_events import message_of
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod

__all__ = ["Killed", "with_killed"]

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
