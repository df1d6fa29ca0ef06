"""The pod template: the few fields that the operator reads, and all of it as the user wrote it.

Kubernetes checks the pod when it is created. Only what the operator relies on is checked here, so that a mistake in a
template causes a message for the user and not an error in the operator.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from qtj_operator.api.model import null_as

__all__ = [
    "CLUSTER_DNS_ON_HOST",
    "TRAINER_IMAGE",
    "Container",
    "Metadata",
    "Mount",
    "PodSpec",
    "PodTemplate",
    "Port",
    "ReadPodTemplate",
    "UnreadPodTemplate",
    "Volume",
    "main_name",
    "mount_at",
    "read_template",
    "runs_trainer",
    "volume_of",
]

_MAIN_CONTAINER = "trainer"
_MOST_CONTAINERS = 32
CLUSTER_DNS_ON_HOST = "ClusterFirstWithHostNet"
"""The `dnsPolicy` of a pod on the network of its node that asks the DNS of the cluster."""
TRAINER_IMAGE = "qtj-trainer"
"""The name of the image of this project's trainer, in any registry."""

T = TypeVar("T")
_List = Annotated[list[T], null_as([])]
_Fields = Annotated[dict[str, Any], null_as({})]


class _Part(BaseModel):
    """A part of the template; null counts as left out, as it does for Kubernetes."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow", frozen=True)

    _written: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def written(self) -> Mapping[str, Any]:
        """The part as its author wrote it."""
        return self._written

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, written: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        part = handler(written)
        if part is not written:
            part._written = written  # noqa: SLF001  a part of this class
        return part

    @model_serializer
    def _write(self) -> Mapping[str, Any]:
        return self._written


class Variable(_Part):
    """A variable of a container."""

    name: str
    value_from: Any = None


class VariableSource(_Part):
    """Where a container gets several variables from."""

    config_map_ref: Any = None


class Port(_Part):
    """A port of a container."""

    container_port: int | None = None
    name: str | None = None


class Mount(_Part):
    """Where a container mounts a volume."""

    mount_path: str
    name: str | None = None


class Volume(_Part):
    """A volume of the pod."""

    name: str

    @property
    def kind(self) -> str:
        """The name of its source; emptyDir if it names none."""
        return next((key for key, value in self.written.items() if key != "name" and value is not None), "emptyDir")


class Resources(_Part):
    """The resources of a container."""

    limits: _Fields = {}


class Container(_Part):
    """A container of the pod."""

    name: str = Field(min_length=1)
    image: str = Field(min_length=1)
    command: Any = None
    env: _List[Variable] = []
    env_from: _List[VariableSource] = []
    ports: _List[Port] = []
    volume_mounts: _List[Mount] = []
    resources: Annotated[Resources, null_as({})] = Resources()
    security_context: _Fields = {}
    termination_message_path: Any = None
    restart_policy: Any = None
    restart_policy_rules: Any = None

    def runs_as_root(self, pod: "PodSpec") -> bool:
        """Whether its author lets it run as root, by the number of the user; the image may do so too."""
        own = self.security_context.get("runAsUser")
        return (pod.security_context.get("runAsUser") if own is None else own) == 0

    @property
    def is_trainer(self) -> bool:
        """Whether it runs this project's trainer."""
        return runs_trainer(self.image, self.command)


class PodSpec(_Part):
    """The pod."""

    containers: list[Container] = Field(min_length=1, max_length=_MOST_CONTAINERS)
    init_containers: _List[Container] = []
    volumes: _List[Volume] = []
    security_context: _Fields = {}
    restart_policy: Literal["Never"] | None = None
    host_network: Any = None
    dns_policy: Any = None
    dns_config: Any = None
    scheduler_name: Any = None
    priority_class_name: Any = None

    @property
    def on_host_network(self) -> bool:
        """Whether its pods use the network of their node."""
        return self.host_network is True

    @property
    def main(self) -> Container:
        """The container that runs the training program."""
        names = [container.name for container in self.containers]
        return self.containers[names.index(main_name(names))]


class Metadata(_Part):
    """Labels and annotations of the pod."""

    labels: _Fields = {}
    annotations: _Fields = {}


class PodTemplate(_Part):
    """A PodTemplateSpec, not expanded, so that every future field of a pod is passed on."""

    metadata: Annotated[Metadata, null_as({})] = Metadata()
    spec: PodSpec


def read_template(written: Any) -> PodTemplate:
    """Reads a template.

    Raises:
        ValidationError: Something that the builders need is missing.
    """
    return PodTemplate.model_validate(written)


def main_name(names: Sequence[str]) -> str:
    """Returns the name of the container that runs the training program."""
    return _MAIN_CONTAINER if _MAIN_CONTAINER in names else names[0]


def runs_trainer(image: object, command: object) -> bool:
    """Tells whether a container with this image and command runs this project's trainer."""
    repository = str(image or "").partition("@")[0]
    return repository.rpartition("/")[2].partition(":")[0] == TRAINER_IMAGE and not command


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "description": "The pod, as in a Deployment. Fields are those of a PodSpec and are passed on unchanged.",
            "required": ["containers"],
            "properties": {
                "containers": {
                    "type": "array",
                    "description": (
                        "The container named `trainer`, or else the first, runs the training program: it gets the "
                        "ports, and its exit code and termination message decide how the replica ended."
                    ),
                    "minItems": 1,
                    "maxItems": _MOST_CONTAINERS,
                    "items": {
                        "type": "object",
                        "required": ["name", "image"],
                        "properties": {
                            "name": {"type": "string", "description": "The container's name.", "minLength": 1},
                            "image": {"type": "string", "description": "The image to run.", "minLength": 1},
                        },
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                },
                "restartPolicy": {
                    "type": "string",
                    "description": "Never, or left out: the operator restarts replicas, not the kubelet.",
                    "enum": ["Never"],
                },
            },
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
    "x-kubernetes-preserve-unknown-fields": True,
}

ReadPodTemplate = Annotated[PodTemplate, BeforeValidator(read_template), WithJsonSchema(_SCHEMA)]
"""A template in a spec: the schema stays small, and what the user wrote is not changed."""

UnreadPodTemplate = Annotated[Mapping[str, Any], WithJsonSchema(_SCHEMA)]
"""A template that may be edited while the job trains: a mistake in it must not make the whole job unreadable, so it is
read by `read_template` when it is used."""


def mount_at(path: PurePosixPath, main: Container) -> Mount | None:
    """Returns where the volume with `path` is mounted: of mounts within one another, the innermost; None without."""
    mounts = {PurePosixPath(mount.mount_path): mount for mount in main.volume_mounts}
    around = [folder for folder in mounts if path.is_relative_to(folder)]
    return mounts[max(around, key=lambda folder: len(folder.parts))] if around else None


def volume_of(mount: Mount, pod: PodSpec) -> Volume:
    """Returns the volume of a mount; if there is none, one of an unknown kind: the API server refuses it, and says so.

    Args:
        mount: Where it is mounted.
        pod: The pod.
    """
    unknown = Volume.model_validate({"name": str(mount.name), "unknown": {}})
    return next((volume for volume in pod.volumes if volume.name == mount.name), unknown)
