"""Reads a job's children into what decisions are made of."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from qtj_operator.api.job import Job, main_container
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_JOB, LABEL_ROLE, inference_name
from qtj_operator.controller.client import Client, Object, ProgressSource, Resource
from qtj_operator.core.observed import InferenceRun, Observed, is_controlled_by
from qtj_operator.core.pod import Pod

__all__ = ["observe"]


async def observe(client: Client, progress: ProgressSource, job: Job) -> Observed:
    """Returns the job with every child that it controls; an object that merely carries our labels is not one."""
    labels = {LABEL_JOB: job.name}
    # Pods are read after the inference Job: one that is seen complete then has its pod, with the result, in sight.
    inference = await client.get(Resource.JOBS, job.namespace, inference_name(job.name))
    pods, services, pod_group = await asyncio.gather(
        client.list(Resource.PODS, job.namespace, labels),
        client.list(Resource.SERVICES, job.namespace, labels),
        _has_pod_group(client, job),
    )
    seen = Observed(
        job=job,
        pods=tuple(_replica_pod(job, pod) for pod in pods if is_controlled_by(pod, job.uid)),
        services={s["metadata"]["name"]: s for s in services if is_controlled_by(s, job.uid)},
        pod_group=pod_group,
        inference=_inference(job, inference, pods),
    )
    key = (job.namespace, job.name)
    told = progress.latest(key, _address(seen.leader))
    measured = progress.latest(key, _address(seen.evaluator), evaluator=True)
    return replace(seen, progress=told, evaluation=measured)


def _address(pod: Pod | None) -> str | None:
    """Returns where a replica can be asked, while it can."""
    return pod.address if pod and pod.ready and not pod.deleting else None


def _replica_pod(job: Job, raw: Object) -> Pod:
    """Reads a pod by its template, for a service mesh may put its proxy before the container that trains.

    Linkerd does unless `proxy-await` is disabled, Istio with `holdApplicationUntilProxyStarts`.
    """
    role = raw["metadata"]["labels"].get(LABEL_ROLE)
    template = next((job.template(known) for known, _ in job.spec.replica_specs if known.task_type == role), None)
    return Pod.parse(raw, None if template is None else _main_name(template))


def _main_name(template: Object) -> str:
    name: str = main_container(template["spec"]["containers"])["name"]
    return name


async def _has_pod_group(client: Client, job: Job) -> bool:
    """Asks only where one is wanted: most clusters serve none."""
    found = await client.get(Resource.POD_GROUPS, job.namespace, job.name) if job.gang else None
    return found is not None and is_controlled_by(found, job.uid)


def _inference(job: Job, found: Object | None, pods: Sequence[Object]) -> InferenceRun | None:
    if found is None or not is_controlled_by(found, job.uid):
        return None
    uid = found["metadata"]["uid"]
    own = (pod for pod in pods if LABEL_INFERENCE in pod["metadata"]["labels"] and is_controlled_by(pod, uid))
    main_name = _main_name(found["spec"]["template"])
    return InferenceRun.parse(found, (Pod.parse(pod, main_name) for pod in own))
