"""A job's children, and nodes, as the API server returns them: the fields that are read, and no other.

A list that is null counts as empty, as for the API server.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from qtj_operator.api.model import null_as
from qtj_operator.api.names import KIND, controllers_of

__all__ = [
    "ContainerStatus",
    "DeploymentObject",
    "JobObject",
    "NodeObject",
    "PodObject",
    "RestartedPod",
    "ServiceObject",
    "Terminated",
    "is_controlled_by",
    "is_of_earlier",
]

T = TypeVar("T")
Items = Annotated[tuple[T, ...], null_as(())]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class Metadata(_Part):
    """What is read of an ObjectMeta."""

    name: str
    resource_version: str


class PodMetadata(Metadata):
    """What is read of the ObjectMeta of a pod."""

    uid: str
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0
    labels: dict[str, str] = {}
    finalizers: Items[str] = ()


class JobMetadata(PodMetadata):
    """What is read of the ObjectMeta of a Job."""

    creation_timestamp: datetime


class Condition(_Part):
    """What is read of a condition of a pod or a Job."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None


class Container(_Part):
    """What is read of a container; a native sidecar among the init containers has a restart policy."""

    name: str
    restart_policy: str | None = None


class Gate(_Part):
    """A scheduling gate."""

    name: str


class PodSpec(_Part):
    """What is read of a PodSpec."""

    containers: tuple[Container, ...]
    init_containers: Items[Container] = ()
    node_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: Items[Gate] = ()


class Terminated(_Part):
    """How a container ended."""

    exit_code: int
    reason: str = "Error"
    message: str = ""
    finished_at: datetime | None = None


class Waiting(_Part):
    """Why a container does not run."""

    reason: str | None = None
    message: str = ""


class ContainerState(_Part):
    """One of them is set, or none."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None
    running: dict[str, Any] | None = None


class ContainerStatus(_Part):
    """What is read of a ContainerStatus."""

    name: str
    image: str = ""
    ready: bool | None = None
    state: ContainerState = ContainerState()


class PodStatus(_Part):
    """What is read of a PodStatus."""

    phase: str = "Pending"
    reason: str | None = None
    message: str = ""
    pod_ip: str | None = Field(None, alias="podIP")
    conditions: Items[Condition] = ()
    container_statuses: Items[ContainerStatus] = ()
    init_container_statuses: Items[ContainerStatus] = ()


class PodObject(_Part):
    """A v1 Pod."""

    metadata: PodMetadata
    spec: PodSpec
    status: PodStatus = PodStatus()


class PodTemplate(_Part):
    """What is read of a PodTemplateSpec."""

    spec: PodSpec


class JobSpec(_Part):
    """What is read of a JobSpec."""

    suspend: bool | None = None
    template: PodTemplate | None = None


class JobStatus(_Part):
    """What is read of a JobStatus."""

    conditions: Items[Condition] = ()


class JobObject(_Part):
    """A batch/v1 Job."""

    metadata: JobMetadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class NodeStatus(_Part):
    """What is read of a NodeStatus."""

    conditions: Items[Condition] = ()


class NodeObject(_Part):
    """A v1 Node."""

    status: NodeStatus = NodeStatus()


class ServiceSpec(_Part):
    """What is read of a ServiceSpec; its ports stay whole, for what others added to them stays."""

    selector: dict[str, str] | None = None
    publish_not_ready_addresses: bool | None = None
    type: str | None = None
    ports: Items[dict[str, Any]] = ()


class ServiceObject(_Part):
    """A v1 Service."""

    metadata: Metadata
    spec: ServiceSpec = ServiceSpec()


class RestartedContainer(ContainerStatus):
    """What is read of the ContainerStatus of a container that is started again when it ends."""

    last_state: ContainerState = ContainerState()


class RestartedStatus(_Part):
    """What is read of the PodStatus of a pod with such containers."""

    container_statuses: Items[RestartedContainer] = ()


class RestartedPod(_Part):
    """A v1 Pod whose containers are started again when they end."""

    status: RestartedStatus = RestartedStatus()


class DeployedContainer(_Part):
    """What is read of a container of a Deployment."""

    name: str
    image: str | None = None
    command: Items[str] = ()
    args: Items[str] = ()


class DeployedPod(_Part):
    """What is read of the PodSpec of a Deployment."""

    containers: Items[DeployedContainer] = ()


class TemplateMetadata(_Part):
    """What is read of the ObjectMeta of a Deployment's template."""

    annotations: Annotated[dict[str, str], null_as({})] = {}


class DeployedTemplate(_Part):
    """What is read of the PodTemplateSpec of a Deployment."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: DeployedPod = DeployedPod()


class DeploymentSpec(_Part):
    """What is read of a DeploymentSpec."""

    replicas: int | None = None
    template: DeployedTemplate = DeployedTemplate()


class DeploymentStatus(_Part):
    """What is read of a DeploymentStatus."""

    observed_generation: int = 0
    available_replicas: int | None = None
    conditions: Items[Condition] = ()


class DeploymentMetadata(Metadata):
    """What is read of the ObjectMeta of a Deployment."""

    generation: int = 1
    deletion_timestamp: datetime | None = None


class DeploymentObject(_Part):
    """An apps/v1 Deployment."""

    metadata: DeploymentMetadata
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


def is_of_earlier(raw: Mapping[str, Any], job: str, uid: str) -> bool:
    """Tells whether the object belongs to an earlier job of the same name, with which it is about to go."""
    former = (owner for owner in controllers_of(raw["metadata"]) if owner["uid"] != uid)
    return any((owner.get("kind"), owner.get("name")) == (KIND, job) for owner in former)


def is_controlled_by(raw: Mapping[str, Any], uid: str) -> bool:
    """Tells whether the object's controller is the owner with this uid."""
    return any(owner["uid"] == uid for owner in controllers_of(raw["metadata"]))
