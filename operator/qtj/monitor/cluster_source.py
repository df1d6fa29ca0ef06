"""Jobs of a cluster, asked of its API server."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from qtj.cluster.connection import job_named, jobs_in
from qtj.monitor.facts import events_about
from qtj.monitor.snapshot import Snapshot, is_unstarted, replicas_of
from qtj.runs.status_text import phase_message
from qtj.runs.timeline import Eta, estimated_left
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_JOB, LABEL_PROBE, MANAGED_BY
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import FINISHED, Phase
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import Client, Object, Resource
from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.editable import has_run

__all__ = ["ClusterSource", "EventReader", "pods_of"]

EventReader = Callable[[str, str], Awaitable[Sequence[Object]]]
"""Returns the events of a job, by namespace and name."""

_UNREAD = (
    "no operator has read it yet: `kubectl get pods -A -l app.kubernetes.io/name=qtj-operator` shows whether one runs"
)
_RESUMED = json.dumps({"spec": {"suspend": False}})


async def _no_events(_namespace: str, _name: str) -> Sequence[Object]:
    return ()


class ClusterSource:
    """Jobs of a cluster; see `Source`.

    The loss of each epoch is known from the first look on: the status has only the last one.

    Args:
        client: The cluster.
        now: Returns the time of the cluster.
        namespace: The namespace of the jobs; None for all namespaces.
        names: The names of the jobs; all jobs if there are none.
        read_events: Reads the events of a job, where they are shown.
    """

    def __init__(
        self,
        client: Client,
        now: Callable[[], datetime],
        namespace: str | None,
        names: Sequence[str] = (),
        read_events: EventReader = _no_events,
    ) -> None:
        self._client = client
        self._now = now
        self._namespace = namespace
        self._names = names
        self._read_events = read_events
        self._eta = Eta()
        self._losses: dict[str, dict[int, float | None]] = {}
        """By the uid of a job and its epoch."""

    async def look(self) -> Sequence[Snapshot]:
        """See `Source.look`."""
        if self._names:
            jobs = [await job_named(self._client, (self._namespace or "", name)) for name in self._names]
        else:
            jobs = list(await jobs_in(self._client, self._namespace))
        labels = {LABEL_JOB: self._names[0]} if len(self._names) == 1 else {"app.kubernetes.io/managed-by": MANAGED_BY}
        pods = await self._client.list(Resource.PODS, self._namespace, labels)
        return [await self._snapshot(job, pods_of(job, pods)) for job in sorted(jobs, key=_place)]

    async def _snapshot(self, job: Object, pods: Sequence[Object]) -> Snapshot:
        status, meta, now = job.get("status") or {}, job["metadata"], self._now()
        name = meta["name"] if self._namespace else f"{meta['namespace']}/{meta['name']}"
        events = await self._read_events(meta["namespace"], meta["name"])
        phase = status.get("phase", Phase.PENDING.value)
        return Snapshot(
            name=name,
            job=job,
            now=now,
            phase=phase,
            why=phase_message(status) if "phase" in status else _UNREAD,
            is_over=phase in FINISHED,
            progress=status.get("progress") or {},
            losses=self._losses_of(job),
            left=self._eta.of(meta["uid"], status, time.monotonic()) or estimated_left(status, now),
            replicas=replicas_of(job, pods),
            pods=pods,
            events=events_about(job, events),
            places={"namespace": meta["namespace"], **_artifacts(job)},
            follows=_next(meta["namespace"], meta["name"], phase, has_log=_has_log(job, pods)),
        )

    def _losses_of(self, job: Object) -> Sequence[float | None]:
        progress = (job.get("status") or {}).get("progress") or {}
        known = self._losses.setdefault(job["metadata"]["uid"], {})
        epoch = progress.get("epoch", 0)
        for later in [each for each in known if each > epoch]:  # an attempt repeats epochs after its checkpoint
            del known[later]
        if epoch:
            known[epoch] = progress.get("loss")
        return [known[each] for each in sorted(known)]


def pods_of(job: Object, pods: Sequence[Object]) -> Sequence[Object]:
    """Returns the pods of a job, without those of an earlier job of its name, and without probes for places."""
    meta = job["metadata"]
    return [pod for pod in pods if _is_of(pod, meta["namespace"], meta["name"], meta["uid"])]


def _is_of(pod: Object, namespace: str, name: str, uid: str) -> bool:
    """Tells whether a pod belongs to a job; the pods of inference belong to a Job of their own."""
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    is_named = pod["metadata"]["namespace"] == namespace and labels.get(LABEL_JOB) == name
    return is_named and LABEL_PROBE not in labels and (LABEL_INFERENCE in labels or is_controlled_by(pod, uid))


def _place(job: Object) -> tuple[bool, float]:
    """Returns the place of a job in a list: active ones first, the newest of them first."""
    created = datetime.fromisoformat(job["metadata"]["creationTimestamp"]).timestamp()
    return (job.get("status") or {}).get("phase") in FINISHED, -created


def _artifacts(job: Object) -> Mapping[str, str]:
    uri, report = (job["spec"].get("artifacts") or {}).get("uri"), (job.get("status") or {}).get("report")
    return {**({"report": report} if report else {}), **({"artifacts": uri} if uri else {})}


def _has_log(job: Object, pods: Sequence[Object]) -> bool:
    """Tells whether a program of the job has started, by its pods or by its status if they are gone."""
    return has_run(read_status(job)) or not all(is_unstarted(parse_pod(pod)) for pod in pods)


def _next(namespace: str, name: str, phase: str, *, has_log: bool) -> str:
    where = f"{name} -n {namespace}"
    if phase == Phase.COMPLETE:
        return f"qtj report {where}"
    if phase == Phase.SUSPENDED:
        return f"kubectl patch qtj {where} --type=merge -p '{_RESUMED}' continues it"
    shows = f"qtj {'logs' if has_log else 'events'} {where}"
    return f"{shows}; qtj retry {where} continues it" if phase == Phase.FAILED else shows
