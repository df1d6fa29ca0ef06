"""The Deployment controller, as far as TensorBoard needs it, and what must be true of TensorBoard in the end.

Source: Kubernetes' Deployment controller (`pkg/controller/deployment/sync.go`, `calculateStatus`): it reports the
generation that it has seen, and how many pods are available. The pods themselves do not matter here.
"""

from collections.abc import Iterator
from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.api.defaults import TENSORBOARD_IMAGE
from qtj_operator.api.job import Job
from qtj_operator.api.names import tensorboard_name
from qtj_operator.controller.client import Resource

Obj = dict[str, Any]


class DeploymentController:
    """Reports that the pods of each Deployment are available."""

    def __init__(self, store: ClusterStore) -> None:
        self._store = store

    def step(self) -> bool:
        """Does what is due; returns whether that changed anything."""
        before = self._store.version
        for each in self._store.select(Resource.DEPLOYMENTS, None, {}):
            meta = each["metadata"]
            self._store.update(Resource.DEPLOYMENTS, meta["namespace"], meta["name"], _observe)
        return self._store.version != before


def _observe(deployment: Obj) -> None:
    meta, status = deployment["metadata"], deployment.get("status", {})
    if status.get("observedGeneration") != meta["generation"]:
        available = deployment["spec"]["replicas"]
        deployment["status"] = {"observedGeneration": meta["generation"], "availableReplicas": available}


def described(deployment: Obj) -> str:
    """Returns what a Deployment must agree in at the end, whatever went wrong."""
    spec = deployment["spec"]
    images = [container["image"] for container in spec["template"]["spec"]["containers"]]
    return f"DEPLOYMENT {deployment['metadata']['name']} {spec['replicas']} of {images}"


def wrong_board(store: ClusterStore, job: Job) -> Iterator[str]:
    """Yields what is wrong with TensorBoard in a cluster that has come to rest."""
    name, wanted = tensorboard_name(job.name), job.spec.tensorboard is not None and bool(job.status.attempt)
    found = {each["metadata"]["name"]: each for each in store.select(Resource.DEPLOYMENTS, job.namespace, {})}
    served = store.has(Resource.SERVICES, job.namespace, name)
    if not wanted:
        if found or served or job.status.tensorboard:
            yield f"there is a TensorBoard that nobody asks for: {sorted(found)}, {served=}, {job.status.tensorboard}"
        return
    if job.spec.suspend and (name not in found or not served):
        return  # it was asked for or deleted while the job was suspended, and nothing is created until it is resumed
    if not found or not served:
        yield f"there is no TensorBoard: {sorted(found)}, {served=}"
        return
    seen, replicas = described(found[name]), 0 if job.spec.suspend else 1
    if seen != f"DEPLOYMENT {name} {replicas} of {[TENSORBOARD_IMAGE]}":
        yield f"TensorBoard is not as built: {seen}"
    if job.status.tensorboard is None or job.status.tensorboard.ready != bool(replicas):
        yield f"the status does not tell of TensorBoard: {job.status.tensorboard}"
