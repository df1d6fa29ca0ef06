"""Reads a job's TensorBoard: only for jobs that have one, and without harm to those whose cluster refuses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_TENSORBOARD, tensorboard_name
from qtj_operator.controller.children import DeploymentObject, RestartedPod, is_controlled_by
from qtj_operator.controller.client import ApiError, Client, Resource
from qtj_operator.controller.parse import parse_pod, parse_service
from qtj_operator.core.observed import Observed
from qtj_operator.core.observed_tensorboard import Board, Deployment
from qtj_operator.core.pending_reason import pending_reason
from qtj_operator.core.service import Service
from qtj_operator.manifests.tensorboard import BUILT, CONTAINER

__all__ = ["parse_deployment", "with_board"]

_ENDED = {"Failed", "Succeeded"}
"""Phases of a pod that was evicted, or whose node was shut down: it stays in sight for hours."""


async def with_board(client: Client, seen: Observed) -> Observed:
    """Adds TensorBoard, if the job asks for one or still has one: its Service shows that, or else the status."""
    job = seen.job
    wanted = job.spec.tensorboard is not None and bool(seen.attempt)
    shown = tensorboard_name(job.name) in seen.services
    left = job.spec.tensorboard is None and not shown and job.status.tensorboard is not None
    if seen.platform.tensorboard_image is None or not (wanted or shown or left):
        return seen
    try:
        board = await _board(client, job)
        return replace(seen, board=replace(board, service=await _service(client, job)) if left else board)
    except ApiError as error:
        if not error.final:
            raise
        return replace(seen, board=Board(trouble=f"the operator cannot read TensorBoard: {error}", readable=False))


async def _service(client: Client, job: Job) -> Service | None:
    """Returns TensorBoard's Service without our label, by which Services are watched: so all of them are listed."""
    for found in await client.list(Resource.SERVICES, job.namespace, {}):
        if found["metadata"]["name"] == tensorboard_name(job.name) and is_controlled_by(found, job.uid):
            return parse_service(found)
    return None


async def _board(client: Client, job: Job) -> Board:
    found = await client.get(Resource.DEPLOYMENTS, job.namespace, tensorboard_name(job.name))
    if found is None or not is_controlled_by(found, job.uid):
        return Board()
    deployment = parse_deployment(found)
    if deployment.available or not deployment.replicas:
        return Board(deployment=deployment)
    pods = await client.list(Resource.PODS, job.namespace, {LABEL_TENSORBOARD: job.name})
    return Board(deployment=deployment, trouble=next(_trouble(found, pods), None))


def parse_deployment(raw: Mapping[str, Any]) -> Deployment:
    """Reads a Deployment."""
    found = DeploymentObject.model_validate(raw)
    meta, spec, status = found.metadata, found.spec, found.status
    main = next((each for each in spec.template.spec.containers if each.name == CONTAINER), None)
    return Deployment(
        name=meta.name,
        version=meta.resource_version,
        deleting=meta.deletion_timestamp is not None,
        replicas=spec.replicas,
        built=spec.template.metadata.annotations.get(BUILT),
        image=main.image if main else None,
        command=(*main.command, *main.args) if main else (),
        available=bool(status.available_replicas) and status.observed_generation >= meta.generation,
    )


def _trouble(deployment: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields why there is no pod, why it has ended, or why it does not start."""
    for condition in DeploymentObject.model_validate(deployment).status.conditions:
        if (condition.type, condition.status) == ("ReplicaFailure", "True"):
            yield f"TensorBoard has no pod: {condition.message}"
    for pod in pods:
        if "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") in _ENDED:
            continue  # another one takes its place
        yield from _ends(pod)
        if found := pending_reason(parse_pod(pod)):
            yield found[1]


def _ends(pod: Mapping[str, Any]) -> Iterator[str]:
    """Yields why TensorBoard has ended, by the last line that it wrote; a mesh may have added other containers."""
    for container in RestartedPod.model_validate(pod).status.container_statuses:
        if container.name != CONTAINER:
            continue
        if ended := container.state.terminated or container.last_state.terminated:
            lines = ended.message.strip().splitlines() or ["it printed nothing"]
            yield f"TensorBoard has ended with exit code {ended.exit_code} ({ended.reason}): {lines[-1]}"
