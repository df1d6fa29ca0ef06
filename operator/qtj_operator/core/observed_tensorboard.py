"""TensorBoard's Deployment, as decisions use it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.service import Service

__all__ = ["Board", "Deployment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The Deployment as it is in the cluster.

    Attributes:
        version: Its resourceVersion.
        deleting: Whether it is being deleted.
        replicas: How many pods it asks for.
        built: The digest of the pod template that it was built with.
        image: The image of TensorBoard's container; None if it has none.
        command: The command of that container, with its arguments.
        available: Whether its pod is ready, in the newest version of the Deployment.
    """

    name: str
    version: str
    deleting: bool
    replicas: int | None
    built: str | None
    image: str | None
    command: Sequence[str]
    available: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What was observed of a job's TensorBoard.

    Attributes:
        deployment: Its Deployment; None if there is none, or if it cannot be read.
        trouble: Why its pod does not run, in one sentence; None if that is unknown.
        readable: Whether the operator may read Deployments.
        service: Its Service, if that has lost the label by which Services of a job are observed.
        obstacle: What the API server has refused, until it is tried again.
        repairs_due: When it may be repaired again; None for now.
    """

    deployment: Deployment | None = None
    trouble: str | None = None
    readable: bool = True
    service: Service | None = None
    obstacle: Obstacle | None = None
    repairs_due: datetime | None = None
