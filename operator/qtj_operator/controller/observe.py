"""Reads a job's children into what decisions are made of; where it matters, their nodes and their namespace too."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from qtj_operator.api.job import EVALUATOR, Job
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_JOB, LABEL_ROLE, Role, inference_name
from qtj_operator.api.status import InferencePhase
from qtj_operator.controller.act import PARALLEL
from qtj_operator.controller.children import is_controlled_by, is_of_earlier
from qtj_operator.controller.client import ApiError, Client, Object, ProgressSource, Resource
from qtj_operator.controller.job_memory import JobMemory
from qtj_operator.controller.parse import has_ended, parse_inference, parse_pod_group, parse_readiness
from qtj_operator.controller.slices import in_slices
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.observed import Observed
from qtj_operator.core.overdue import is_late
from qtj_operator.core.platform import CLUSTER, Platform
from qtj_operator.core.pod import Pod
from qtj_operator.core.pod_group import NO_POD_GROUPS, PodGroup, PodGroups
from qtj_operator.core.removal import should_be_gone

__all__ = ["observe", "with_namespace", "with_nodes"]


async def observe(
    client: Client,
    progress: ProgressSource,
    job: Job,
    now: datetime,
    platform: Platform = CLUSTER,
    memory: JobMemory | None = None,
) -> Observed:
    """Returns the job with every child that it controls; an object that merely carries our labels is not one."""
    key = job.namespace, job.name
    memory = memory or JobMemory()
    memory.pods.begin()
    memory.services.begin()
    labels = {LABEL_JOB: job.name}
    # Pods are read after the inference Job, and where that has just ended, from the API server: so its pod, with the
    # result, is in sight. The watch of pods may be behind that of Jobs, and behind a deadline, which is final.
    inference = await client.get(Resource.JOBS, job.namespace, inference_name(job.name))
    fresh = is_late(job, now) or (not job.is_over and inference is not None and has_ended(inference))
    pods = await client.list(Resource.PODS, job.namespace, labels, fresh=fresh)
    services = await client.list(Resource.SERVICES, job.namespace, labels)
    mains = {role.task_type: _main_name(job, role) for role, _ in job.spec.replica_specs}
    own = [raw for raw in services if is_controlled_by(raw, job.uid)]
    replicas = tuple(
        [memory.pods(pod, _main(pod, mains)) async for pod in in_slices(pods) if is_controlled_by(pod, job.uid)],
    )
    seen = Observed(
        job=job,
        platform=platform,
        pods=replicas,
        services={service.name: service for service in [memory.services(raw) async for raw in in_slices(own)]},
        pod_groups=await _pod_groups(client, job, replicas),
        inference=_inference(job, inference, pods),
        earlier=_names_of_earlier(job, (*pods, *services)),
    )
    beats = ((pod.replica, progress.heard(key, pod.replica)) for pod in seen.stepping if pod.replica)
    seen = replace(seen, heard={replica: heard for replica, heard in beats if heard is not None})
    reports = {replica: progress.latest(key, replica) for replica in seen.asked}
    return replace(seen, progress=reports.get(job.leader), evaluation=reports.get(EVALUATOR))


def _names_of_earlier(job: Job, children: Sequence[Object]) -> frozenset[str]:
    """Returns the names of children that an earlier job of this name still has."""
    return frozenset(raw["metadata"]["name"] for raw in children if is_of_earlier(raw, job.name, job.uid))


def _main_name(job: Job, role: Role) -> str:
    """Returns the container that trains, by its template: a service mesh may put its proxy before it.

    Linkerd does unless `proxy-await` is disabled, Istio with `holdApplicationUntilProxyStarts`.
    """
    return job.template(role).spec.main.name


def _main(raw: Object, mains: Mapping[str, str]) -> str | None:
    return mains.get(raw["metadata"]["labels"].get(LABEL_ROLE))


async def _pod_groups(client: Client, job: Job, pods: Sequence[Pod]) -> PodGroups:
    """Asks only where one is wanted, for most clusters serve none, and only until all replicas have a node.

    PodGroups are not watched. A gang that has been placed needs its group no more, and counts as if it had one.
    """
    if not job.gang:
        return NO_POD_GROUPS
    placed = len(pods) == job.size and not any(pod.unplaced for pod in pods)
    if placed or job.is_trained or job.is_over:
        return PodGroups.placed(job)
    native, plugin = [await _listed(client, job, each) for each in (Resource.NATIVE_POD_GROUPS, Resource.POD_GROUPS)]
    return PodGroups.of(job, native, plugin)


async def _listed(client: Client, job: Job, resource: Resource) -> Sequence[PodGroup] | None:
    """Returns a job's groups; None where the cluster does not serve them.

    A refusal for lack of rights is not that: a gang would change from one API to the other, and back.
    """
    try:
        found = await client.list(resource, job.namespace, {LABEL_JOB: job.name})
    except ApiError as error:
        if error.code != 404:
            raise
        return None
    return [parse_pod_group(raw) for raw in found if is_controlled_by(raw, job.uid)]


def _inference(job: Job, found: Object | None, pods: Sequence[Object]) -> InferenceRun | None:
    if found is None or not is_controlled_by(found, job.uid):
        return None
    uid = found["metadata"]["uid"]
    own = (pod for pod in pods if LABEL_INFERENCE in pod["metadata"]["labels"] and is_controlled_by(pod, uid))
    return parse_inference(found, own)


async def with_nodes(client: Client, seen: Observed, now: datetime) -> Observed:
    """Returns what was seen, with the state of the node of each pod that takes long to go; most passes ask nothing.

    Raises:
        ApiError: The server did not answer, so the state of the node is not known.
    """
    pods = (*seen.pods, *(seen.inference.pods if seen.inference else ()))
    names = sorted({pod.node for pod in pods if pod.node and should_be_gone(pod, now)})
    if not names:
        return seen
    limit = asyncio.Semaphore(PARALLEL)
    ready = dict(zip(names, await asyncio.gather(*(_is_ready(client, limit, name) for name in names)), strict=True))

    def asked(pods: Iterable[Pod]) -> tuple[Pod, ...]:
        return tuple(replace(pod, node_ready=ready.get(pod.node or "")) for pod in pods)

    inference = seen.inference and replace(seen.inference, pods=asked(seen.inference.pods))
    return replace(seen, pods=asked(seen.pods), inference=inference)


async def _is_ready(client: Client, limit: asyncio.Semaphore, name: str) -> bool | None:
    """Returns whether the node answers, which one that is gone does not; None where the operator may not see nodes."""
    try:
        async with limit:
            node = await client.get(Resource.NODES, None, name)
    except ApiError as error:
        if error.code == 403:
            return None
        raise
    return node is not None and parse_readiness(node)


_TERMINATING = "Terminating"


async def with_namespace(client: Client, seen: Observed) -> Observed:
    """Returns what was seen, and whether the namespace is being deleted; most passes ask nothing.

    An operator that may not read namespaces, or gets no answer, does without: a disruption it is then.
    """
    if not _loses_children(seen):
        return seen
    try:
        found = await client.get(Resource.NAMESPACES, None, seen.job.namespace)
    except ApiError:
        return seen
    return replace(seen, namespace_ends=found is not None and _ends(found))


def _loses_children(seen: Observed) -> bool:
    """Whether pods of a gang that trains, or an inference Job that runs, are being deleted or are gone."""
    job, inference = seen.job, seen.job.status.inference
    if job.is_over or job.is_suspended or job.spec.suspend:
        return False
    if job.is_trained:
        ran = inference is not None and inference.phase == InferencePhase.RUNNING
        return ran and (seen.inference is None or seen.inference.deleting)
    return seen.gang_has_run and (bool(seen.missing) or any(pod.deleting for pod in seen.current))


def _ends(namespace: Object) -> bool:
    return bool((namespace.get("status") or {}).get("phase") == _TERMINATING)
