"""`spec.tensorboard`: a TensorBoard that shows the curves and profiles of the job."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictInt, WithJsonSchema

from qtj_contract.quantities import amount_of
from qtj_operator.api.defaults import TENSORBOARD_PORT
from qtj_operator.api.model import Model
from qtj_operator.api.rules import broken, checked, matching, validations

__all__ = ["Resources", "ServiceType", "TensorBoard", "Toleration"]

_COMPONENT = "[a-z0-9]+([._-]+[a-z0-9]+)*"
_IMAGE_PATTERN = (
    rf"^([a-zA-Z0-9.-]+(:[0-9]+)?/)?{_COMPONENT}(/{_COMPONENT})*"
    "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
)
"""A reference as container runtimes read it: REGISTRY:PORT/PATH/NAME:TAG@DIGEST."""

_VALID_IMAGE = matching(
    _IMAGE_PATTERN,
    "this is no name of an image: write REGISTRY/NAME:TAG, with only lowercase letters in NAME",
)


class ServiceType(StrEnum):
    """From where TensorBoard's Service can be reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


_QUANTITY_PATTERN = "^([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
_NO_QUANTITY = "this is no quantity: write for example 500m, 2 or 2Gi, and put a fraction in quotes"


def _quantity(value: object) -> object:
    """Checks what the API server checks: a CRD takes a quantity as text or as a whole number, but not as a fraction."""
    amount = None if isinstance(value, float) else amount_of(value)
    if amount is None or amount.is_signed():
        raise broken(_NO_QUANTITY)
    return value


_Quantities = Mapping[
    str,
    Annotated[
        Any,
        AfterValidator(_quantity),
        WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": _QUANTITY_PATTERN}),
    ],
]


class Resources(Model):
    """Compute resources of a container."""

    requests: _Quantities | None = Field(None, description="What is reserved for it, by the name of the resource.")
    limits: _Quantities | None = Field(None, description="What it may use at most, by the name of the resource.")


class Toleration(Model):
    """A taint of nodes that a pod tolerates."""

    key: str | None = Field(None, description="The taint's key. Every key when left out.")
    operator: Literal["Exists", "Equal"] | None = Field(None, description="Equal when left out.")
    value: str | None = Field(None, description="The taint's value, for Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="The taint's effect. Every effect when left out."
    )
    toleration_seconds: StrictInt | None = Field(
        None, description="How long a pod stays on a node that gets this taint with NoExecute. For ever when left out."
    )


class TensorBoard(Model):
    """A TensorBoard that shows the curves and profiles of the job, as long as the job exists."""

    image: Annotated[str, Field(min_length=1, max_length=512), checked(_VALID_IMAGE)] | None = Field(
        None,
        description="An image that has the command `tensorboard`. That of this project when left out.",
        json_schema_extra=validations(_VALID_IMAGE),
    )
    port: StrictInt | None = Field(
        None, description=f"Port of its Service. {TENSORBOARD_PORT} when left out.", ge=1, le=65535
    )
    resources: Resources | None = Field(
        None,
        description="Resources of its container. 100m of CPU and 256Mi of memory, and at most 2Gi of memory, when left "
        "out.",
    )
    service_type: ServiceType | None = Field(
        None,
        description="Type of its Service. ClusterIP, also when left out: `qtj tensorboard` and other pods reach it. "
        "NodePort and LoadBalancer show it to everybody who can reach the node or the load balancer: TensorBoard asks "
        "for no password.",
    )
    labels: Mapping[str, str] | None = Field(
        None, description="Labels of its pod. It has none of those of the template."
    )
    annotations: Mapping[str, str] | None = Field(None, description="Annotations of its pod.")
    node_selector: Mapping[str, str] | None = Field(None, description="Labels that its node must have.")
    tolerations: list[Toleration] | None = Field(None, description="Taints that its pod tolerates.")
    priority_class_name: str | None = Field(None, description="The priority class of its pod.")
    service_account_name: str | None = Field(
        None,
        description="The service account of its pod, by which it may read the artifacts; it gets no token of the API "
        "server. That of the leading replica when left out.",
    )
    service_annotations: Mapping[str, str] | None = Field(
        None, description="Annotations with which its Service is created, for example for an internal load balancer."
    )

    @property
    def service_port(self) -> int:
        """Port of its Service."""
        return self.port or TENSORBOARD_PORT

    @property
    def exposed(self) -> bool:
        """Whether its Service can be reached from outside of the cluster."""
        return self.service_type not in {None, ServiceType.CLUSTER_IP}
