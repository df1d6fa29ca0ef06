"""The pod template: the few fields that the operator itself reads, and everything else untouched.

Kubernetes checks the pod when it is created. What is checked here is only what the builders rely on, so that a slip in
a template ends in a sentence for the user and not in a defect of the operator.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

__all__ = ["PodTemplate", "UnreadPodTemplate", "read_template"]


_MOST_CONTAINERS = 32


class _Part(BaseModel):
    """A part of the template; a field that is null counts as left out, as it does for Kubernetes."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")


class _Variable(_Part):
    name: str


class _Mount(_Part):
    mount_path: str


class _Volume(_Part):
    name: str


class _Resources(_Part):
    limits: dict[str, Any] | None = None


class _Container(_Part):
    name: str = Field(min_length=1)
    image: str = Field(min_length=1)
    env: list[_Variable] | None = None
    ports: list[dict[str, Any]] | None = None
    volume_mounts: list[_Mount] | None = None
    resources: _Resources | None = None
    security_context: dict[str, Any] | None = None


class _PodSpec(_Part):
    containers: list[_Container] = Field(min_length=1, max_length=_MOST_CONTAINERS)
    init_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    security_context: dict[str, Any] | None = None
    restart_policy: Literal["Never"] | None = None


class _Metadata(_Part):
    labels: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None


class _Template(_Part):
    metadata: _Metadata | None = None
    spec: _PodSpec


def read_template(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the template as it is, once the builders can rely on it.

    Raises:
        ValidationError: They cannot.
    """
    _Template.model_validate(template)
    return template


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
                        "The container called `trainer`, or else the first, runs the training program: it gets the "
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

PodTemplate = Annotated[Mapping[str, Any], AfterValidator(read_template), WithJsonSchema(_SCHEMA)]
"""A PodTemplateSpec, not expanded: the schema stays small and every future pod field works."""

UnreadPodTemplate = Annotated[Mapping[str, Any], WithJsonSchema(_SCHEMA)]
"""A PodTemplate that may still be edited while the job trains: a slip in it must not make the whole job unreadable, so
`read_template` has to be called before it is used."""
