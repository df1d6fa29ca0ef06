"""Names and labels of a job, its replicas and their children, and who owns an object."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

__all__ = [
    "API_VERSION",
    "API_VERSIONS",
    "GROUP",
    "KIND",
    "LABEL_ATTEMPT",
    "LABEL_EXPOSED",
    "LABEL_INDEX",
    "LABEL_INFERENCE",
    "LABEL_JOB",
    "LABEL_PROBE",
    "LABEL_PROFILES",
    "LABEL_QUEUE",
    "LABEL_ROLE",
    "LABEL_TENSORBOARD",
    "MANAGED_BY",
    "MANAGER",
    "MAX_NAME_LENGTH",
    "MAX_REPLICAS",
    "NAME_PATTERN",
    "NEWEST_API_VERSION",
    "NEWEST_VERSION",
    "PLURAL",
    "VERSION",
    "VERSIONS",
    "Role",
    "child_labels",
    "controllers_of",
    "inference_name",
    "is_reserved",
    "replica_host",
    "replica_name",
    "tensorboard_name",
    "tensorboard_url",
    "without_reserved",
]

GROUP = "quantumtraining.dev"

VERSION = "v1alpha1"
"""What etcd stores, what the operator reads and writes, and what owner references name.

Every release of the CRD serves it, so an operator works with the CRD of the release before or after its own. A release
that stores another version could not be stepped back from: the API server refuses a CRD without a version that it has
stored."""
API_VERSION = f"{GROUP}/{VERSION}"

NEWEST_VERSION = "v1beta1"
"""What users write, and what the command writes for them."""
NEWEST_API_VERSION = f"{GROUP}/{NEWEST_VERSION}"

VERSIONS = (VERSION, NEWEST_VERSION)
"""All versions that the CRD serves, the oldest first. They have one schema, so no webhook converts between them."""
API_VERSIONS = (API_VERSION, NEWEST_API_VERSION)

KIND = "QuantumTrainingJob"
PLURAL = "quantumtrainingjobs"

LABEL_QUEUE = "kueue.x-k8s.io/queue-name"
"""Kueue's label with the name of a queue."""

LABEL_JOB = f"{GROUP}/job"
LABEL_ROLE = f"{GROUP}/role"
LABEL_INDEX = f"{GROUP}/index"
LABEL_ATTEMPT = f"{GROUP}/attempt"
LABEL_INFERENCE = f"{GROUP}/inference"

LABEL_PROBE = f"{GROUP}/probe"
"""On a pod that only finds out whether there is a place for one more replica."""

LABEL_TENSORBOARD = f"{GROUP}/tensorboard"
"""On TensorBoard's pod, with the job's name. It has no LABEL_JOB, by which replicas may keep away from each other."""

LABEL_PROFILES = f"{GROUP}/profiles"
LABEL_EXPOSED = f"{GROUP}/exposed"
"""Labels that the network policies select: pods that may ask replicas for profiles, and pods that everybody
may reach."""

MANAGED_BY = "qtj-operator"
LABEL_APP = "app.kubernetes.io/name"
_APPS = (MANAGED_BY, "qtj-tensorboard")
"""What is installed has the label `LABEL_APP` with one of these names, by which Services and policies select it."""
MANAGER = f"{GROUP}/qtj-operator"
"""This operator, in the form of spec.managedBy."""

MAX_REPLICAS = 1_000
"""TF_CONFIG names every replica of a job in one environment variable, of which Linux allows 128 KiB."""

NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
"""A Service's name (DNS-1035 label): the job's name is its prefix, so it starts with a letter."""

MAX_NAME_LENGTH = 63 - len("-evaluator-0")
"""So that every child's name is still a DNS label of at most 63 characters."""


class Role(StrEnum):
    """The role of a replica in the cluster of ``TF_CONFIG``, in the order in which roles lead."""

    CHIEF = "Chief"
    WORKER = "Worker"
    PS = "PS"
    EVALUATOR = "Evaluator"

    @property
    def task_type(self) -> str:
        """The role's name in ``TF_CONFIG``."""
        return self.lower()


def is_reserved(label: str, value: object) -> bool:
    """Tells whether a label is one by which the operator's own objects are found."""
    return label.startswith(f"{GROUP}/") or (label == LABEL_APP and value in _APPS)


def without_reserved(labels: Mapping[str, str]) -> dict[str, str]:
    """Returns the labels that a user may give a pod."""
    return {label: value for label, value in labels.items() if not is_reserved(label, value)}


def replica_name(job: str, role: Role, index: int) -> str:
    """Name of a replica's pod and of its Service, for example ``qcnn-worker-0``."""
    return f"{job}-{role.task_type}-{index}"


def replica_host(job: str, namespace: str, role: Role, index: int, *, shared: bool = False) -> str:
    """DNS name of a replica. Any pod of the cluster can resolve it, whatever the domain of the cluster is.

    Args:
        job: The job's name.
        namespace: Its namespace.
        role: The replica's role.
        index: Its index in the role.
        shared: Whether all replicas have one Service, which has the job's name.
    """
    name = replica_name(job, role, index)
    return f"{name}.{job}.{namespace}.svc" if shared else f"{name}.{namespace}.svc"


def inference_name(job: str) -> str:
    """Name of the Job that runs inference."""
    return f"{job}-inference"


def tensorboard_name(job: str) -> str:
    """Name of TensorBoard's Deployment and of its Service."""
    return f"{job}-tensorboard"


def tensorboard_url(job: str, namespace: str, port: int) -> str:
    """Address of TensorBoard in any pod of the cluster whatever its domain."""
    return f"http://{tensorboard_name(job)}.{namespace}.svc:{port}"


def child_labels(job: str) -> Mapping[str, str]:
    """Labels on every child of the job, by which the operator finds them."""
    return {
        "app.kubernetes.io/managed-by": MANAGED_BY,
        "app.kubernetes.io/part-of": job,
        LABEL_JOB: job,
    }


def controllers_of(metadata: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the references to owners that control the object; the API server allows one at most."""
    return [owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")]
