"""A pod that finds out whether the cluster has a place for one more replica, and does nothing there."""

from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import LABEL_PROBE
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod

__all__ = ["probe_pod"]

_PROGRAM = ("args", "env", "envFrom", "lifecycle", "livenessProbe", "ports", "readinessProbe", "startupProbe")
"""What belongs to the program of a container. The rest decides where its pod fits: resources, devices, volumes."""


def probe_pod(job: Job, replica: ReplicaId, attempt: int) -> Manifest:
    """Returns a pod that the scheduler places like that of a replica.

    None of the user's programs runs in it, because a replica that starts would connect to peers that train. It is
    deleted as soon as it has a node. So it does not matter how `true` ends, or whether the image has it.
    """
    pod = replica_pod(job, replica, attempt)
    pod["metadata"]["labels"][LABEL_PROBE] = "true"
    spec = pod["spec"]
    spec["terminationGracePeriodSeconds"] = 1
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_idle(container) for container in spec[field]]
    return pod


def _idle(container: Manifest) -> Manifest:
    kept = {field: value for field, value in container.items() if field not in _PROGRAM}
    return {**kept, "command": ["true"]}
