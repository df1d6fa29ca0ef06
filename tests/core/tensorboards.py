"""What a pass observes of TensorBoard: `with_board(running_job(tensorboard={}), available=True)`."""

from dataclasses import replace
from typing import Any

from qtj_operator.api.defaults import TENSORBOARD_IMAGE
from qtj_operator.controller.observe_tensorboard import parse_deployment
from qtj_operator.controller.parse import parse_service
from qtj_operator.core.decision import Action
from qtj_operator.core.observed_tensorboard import Board
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.tensorboard import tensorboard_deployment, tensorboard_service
from tests.core.world import World, stored

__all__ = ["NAME", "URL", "called", "deployment", "served", "with_board"]

NAME = "qcnn-tensorboard"
URL = "http://qcnn-tensorboard.lab.svc:6006"


def deployment(world: World) -> Manifest:
    """The Deployment as the operator builds it for this job."""
    assert world.job.spec.tensorboard is not None
    return tensorboard_deployment(world.job, world.job.spec.tensorboard, TENSORBOARD_IMAGE)


def with_board(
    world: World,
    *,
    available: bool = False,
    trouble: str | None = None,
    deleting: bool = False,
    spec: dict[str, Any] | None = None,
) -> World:
    """The world with TensorBoard's Deployment and Service.

    Args:
        world: A job that asks for it.
        available: Whether its pod is ready.
        trouble: Why the pod does not start.
        deleting: Whether the Deployment is being deleted.
        spec: Fields of the Deployment that somebody has edited.
    """
    built = stored(deployment(world))
    live = {**built, "spec": {**built["spec"], **(spec or {})}}
    if available:
        live["status"] = {"availableReplicas": 1, "observedGeneration": 1}
    if deleting:
        live["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:00Z"
    found = Board(deployment=parse_deployment(live), trouble=trouble)
    return replace(served(world), board=found)


def served(world: World, **spec: Any) -> World:
    """The world with TensorBoard's Service; `spec` are fields of it that somebody has edited."""
    assert world.job.spec.tensorboard is not None
    built = stored(tensorboard_service(world.job, world.job.spec.tensorboard))
    service = parse_service({**built, "spec": {**built["spec"], **spec}})
    return replace(world, services={**world.services, service.name: service})


def called(action: Action) -> str:
    """An action in words: `Create Deployment qcnn-tensorboard`."""
    manifest = getattr(action, "manifest", None)
    kind, name = (manifest["kind"], manifest["metadata"]["name"]) if manifest else (action.kind, action.name)  # type: ignore[union-attr]
    return f"{type(action).__name__} {kind} {name}"
