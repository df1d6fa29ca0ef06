"""TensorBoard, beside everything else: training neither waits for it nor fails with it.

::

    the first attempt has started    its Service, then its Deployment of one pod
    suspended                        no pod; Deployment and Service stay
    complete or failed               as before, until the job is deleted
    the field is removed             the Deployment is deleted, then the Service

The Service is created first and deleted last. So whenever there may be a Deployment that the spec does not ask for,
the Service shows it, and jobs without TensorBoard cost no request. If the Service is gone or has lost its label, which
happens while the operator is down, `status.tensorboard` shows that there is more to delete.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import tensorboard_name, tensorboard_url
from qtj_operator.api.status import TensorBoardStatus
from qtj_operator.api.tensorboard import TensorBoard
from qtj_operator.core.decision import Action, Create, Delete, Event, Kind, Restore, earliest
from qtj_operator.core.editable import has_run
from qtj_operator.core.impersonation import account_of_board
from qtj_operator.core.observed import Observed
from qtj_operator.core.observed_tensorboard import Board, Deployment
from qtj_operator.core.repaired import without_early_repairs
from qtj_operator.core.service import Service, are_present, merged
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.tensorboard import (
    BUILT,
    CONTAINER,
    board_service_spec,
    deployment_spec,
    tensorboard_deployment,
    tensorboard_service,
)

__all__ = ["TensorBoardDecision", "tensorboard"]


_NOT_APPLIED = (
    "TensorBoard stays as it is: a field of the job that cannot be changed was changed, see the condition SpecIgnored"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBoardDecision:
    """What is done about TensorBoard.

    Attributes:
        actions: Changes to its Deployment and its Service.
        status: What the status reports about it.
        events: Events besides those that follow from the status.
        wake_at: When the next pass is due even if nothing happens.
    """

    actions: tuple[Action, ...] = ()
    status: TensorBoardStatus | None = None
    events: tuple[Event, ...] = ()
    wake_at: datetime | None = None


def tensorboard(seen: Observed) -> TensorBoardDecision:
    """Decides about TensorBoard, whatever is decided about the job."""
    wanted = _wanted(seen)
    return wanted if seen.board is None else _allowed(wanted, seen.board)


def _wanted(seen: Observed) -> TensorBoardDecision:
    image, board = seen.platform.tensorboard_image, seen.job.tensorboard
    if image is None or not seen.attempt:
        return TensorBoardDecision()
    if board is None:
        return TensorBoardDecision(actions=_removed(seen), status=_left(seen))
    found = seen.board or Board()
    stays = seen.job.edited or account_of_board(seen.job, seen.platform) or not found.readable
    actions = () if stays else tuple(_changes(seen, board, found, image))
    return TensorBoardDecision(actions=actions, status=_status(seen, board, found))


def _allowed(wanted: TensorBoardDecision, found: Board) -> TensorBoardDecision:
    """Returns what is left without early repairs, and without everything that a refusal stands in the way of."""
    actions, due = without_early_repairs(wanted.actions, found.repairs_due)
    obstacle = found.obstacle
    if obstacle is None or not obstacle.stops_any(actions):
        return replace(wanted, actions=actions, wake_at=due)
    due = earliest(due, obstacle.due)
    if wanted.status is not None:
        return TensorBoardDecision(status=wanted.status.changed(message=obstacle.message), wake_at=due)
    # It cannot be removed; the API server keeps one event of each message.
    return TensorBoardDecision(events=(Event("Warning", Reason.TENSORBOARD_NOT_READY, obstacle.message),), wake_at=due)


def _removed(seen: Observed) -> tuple[Action, ...]:
    if seen.board is None or not seen.board.readable:
        return ()
    deployment = seen.board.deployment
    service = seen.services.get(tensorboard_name(seen.job.name)) or seen.board.service
    if deployment is not None:
        return () if deployment.deleting else (Delete(Kind.DEPLOYMENT, deployment.name, deployment.version),)
    return () if service is None else (Delete(Kind.SERVICE, service.name, service.version),)


def _left(seen: Observed) -> TensorBoardStatus | None:
    """Returns what the status reported, while nothing else shows what is left."""
    if seen.board is None or tensorboard_name(seen.job.name) in seen.services:
        return None
    return seen.job.status.tensorboard if seen.board.deployment or seen.board.service else None


def _changes(seen: Observed, board: TensorBoard, found: Board, image: str) -> Iterator[Action]:
    service, wanted = seen.services.get(tensorboard_name(seen.job.name)), board_service_spec(seen.job, board)
    if service is None:
        if not seen.job.spec.suspend:
            yield Create(Kind.SERVICE, partial(tensorboard_service, seen.job, board))
    elif not _is_served(wanted, service):
        fields = {**wanted, "ports": merged(wanted["ports"], service.ports)}
        yield Restore(Kind.SERVICE, service.name, service.version, fields)
    if found.deployment is None:
        if not seen.job.spec.suspend:
            yield Create(Kind.DEPLOYMENT, partial(tensorboard_deployment, seen.job, board, image))
    elif not found.deployment.deleting:
        spec = deployment_spec(seen.job, board, image)
        if not _is_as_built(spec, found.deployment):
            yield Restore(Kind.DEPLOYMENT, found.deployment.name, found.deployment.version, spec)


def _is_served(wanted: Manifest, live: Service) -> bool:
    same = (live.type, live.selector) == (wanted["type"], wanted["selector"])
    return same and are_present(wanted["ports"], live.ports)


def _is_as_built(spec: Manifest, live: Deployment) -> bool:
    """Whether the Deployment is the one that would be built now, and nobody has edited what decides what it shows.

    Other fields are not compared: the API server completes and rewrites them, and an administrator may have reasons.
    """
    (container,) = (each for each in spec["template"]["spec"]["containers"] if each["name"] == CONTAINER)
    built = spec["template"]["metadata"]["annotations"][BUILT]
    command = [*container["command"], *container["args"]]
    wanted = (spec["replicas"], built, container["image"], command)
    return (live.replicas, live.built, live.image, list(live.command)) == wanted


def _status(seen: Observed, board: TensorBoard, found: Board) -> TensorBoardStatus:
    live, suspended = found.deployment, bool(seen.job.spec.suspend)
    ready = live is not None and live.available and not live.deleting and not suspended
    ignored = _NOT_APPLIED if seen.job.edited and has_run(seen.job.status) else None
    refused = ignored or account_of_board(seen.job, seen.platform)
    return TensorBoardStatus(
        url=tensorboard_url(seen.job.name, seen.job.namespace, board.service_port),
        ready=ready,
        message=refused or (None if ready or suspended else found.trouble),
    )
