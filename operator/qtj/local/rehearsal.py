"""What the operator would create for a job: the result of its reconcile on an empty cluster without a kubelet."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qtj.local.folder import natural_key
from qtj.local.store import ClusterStore, MemoryClient
from qtj_operator.api.job import Job
from qtj_operator.api.status import Phase, WeightsStatus
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import Reconciler, utc_now
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.core.platform import CLUSTER, Platform
from qtj_operator.manifests.inference import inference_job

__all__ = ["Rehearsal", "rehearse"]

_ENOUGH = 10
"""Passes after which everything is created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The objects that the operator creates for a job.

    Attributes:
        services: The Services.
        pod_groups: The PodGroup, if the gang has to be placed together.
        pods: The pods of the replicas.
        deployments: The Deployment of TensorBoard, if the spec asks for one.
        inference: The inference Job, if the spec asks for one; its weights and their digest are placeholders.
        refusal: Why the operator refuses the job, in one sentence; None when it does not.
    """

    services: Sequence[dict[str, Any]]
    pod_groups: Sequence[dict[str, Any]]
    pods: Sequence[dict[str, Any]]
    deployments: Sequence[dict[str, Any]]
    inference: dict[str, Any] | None
    refusal: str | None

    @property
    def created(self) -> Sequence[dict[str, Any]]:
        """All objects, in the order in which the operator creates them."""
        inference = [self.inference] if self.inference else []
        return [*self.services, *self.pod_groups, *self.pods, *self.deployments, *inference]


def rehearse(manifest: Object, *, here: bool = False) -> Rehearsal:
    """Runs the operator on a job, without any program.

    Args:
        manifest: A job that its models accept.
        here: Whether the job is for this machine rather than for a cluster.
    """
    return asyncio.run(_rehearse(manifest, Platform(keeps_files=True) if here else CLUSTER))


async def _rehearse(manifest: Object, platform: Platform) -> Rehearsal:
    store = ClusterStore(utc_now)
    client = MemoryClient(store)
    meta = manifest["metadata"]
    key = (meta["namespace"], meta["name"])
    spec = {name: value for name, value in manifest["spec"].items() if name != "suspend"}
    store.create(Resource.QUANTUM_TRAINING_JOBS, {**manifest, "spec": spec})
    reconciler = Reconciler(client, NoProgress(), platform=platform)
    for _ in range(_ENOUGH):
        await reconciler.reconcile(key)
    raw = await client.get(Resource.QUANTUM_TRAINING_JOBS, *key) or {}
    problem = invalid_inference(Job.parse(raw), platform)
    return Rehearsal(
        services=_created(store, Resource.SERVICES),
        pod_groups=_created(store, Resource.POD_GROUPS),
        pods=_created(store, Resource.PODS),
        deployments=_created(store, Resource.DEPLOYMENTS),
        inference=None if problem else _inference(store.find(Resource.QUANTUM_TRAINING_JOBS, *key)),
        refusal=_refusal(raw) or problem,
    )


def _created(store: ClusterStore, resource: Resource) -> list[dict[str, Any]]:
    created = map(_as_applied, store.select(resource, None, {}))
    return sorted(created, key=lambda each: natural_key(each["metadata"]["name"]))


def _inference(raw: Object) -> dict[str, Any] | None:
    job = Job.parse(raw)
    if job.inference is None:
        return None
    stored = WeightsStatus(uri=f"{job.spec.artifacts.uri}/weights/WEIGHTS.h5", sha256="0" * 64)
    weights = stored if job.named_weights is None else WeightsStatus(uri=job.named_weights)
    return inference_job(job, job.inference, weights)


def _refusal(raw: Object) -> str | None:
    status = raw.get("status") or {}
    if not status:
        return f"spec.managedBy is {raw['spec'].get('managedBy')}: another controller manages this job"
    if status["phase"] != Phase.FAILED:
        return None
    return next(str(c["message"]) for c in status["conditions"] if c["type"] == Phase.FAILED)


def _as_applied(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns the object without what an API server adds."""
    added = {"uid", "resourceVersion", "creationTimestamp", "generation"}
    meta = {name: value for name, value in obj["metadata"].items() if name not in added}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": meta}
