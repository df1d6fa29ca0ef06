"""Carries out actions: deletes first, then Services, then everything else in parallel."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass

from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.build.manifest import Manifest
from qtj_operator.controller.client import ApiError, Client, Resource
from qtj_operator.core.decision import Action, Apply, Create, Delete, Kind
from qtj_operator.core.observed import is_controlled_by

__all__ = ["Obstacle", "act"]

_PARALLEL = 50
"""Requests under way at once for one job: enough to be fast, few enough to leave the API server to others."""

_RESOURCES = {Kind.POD: Resource.PODS, Kind.SERVICE: Resource.SERVICES, Kind.JOB: Resource.JOBS}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A child that cannot be created, in a sentence for the user."""

    reason: Reason
    message: str


class NameTakenError(Exception):
    """A child's name belongs to an object of somebody else."""


async def act(client: Client, job: Job, actions: Sequence[Action]) -> Obstacle | None:
    """Carries out `actions`; returns what stands in the way of a child, if anything does.

    Raises:
        ApiError: The server could not be reached or is too busy; the pass is to be repeated.
    """
    limit = asyncio.Semaphore(_PARALLEL)

    async def one(action: Action) -> Obstacle | None:
        async with limit:
            return await _carry_out(client, job, action)

    for stage in _stages(actions):
        obstacles = await _all(one(action) for action in stage)
        if obstacles:
            return obstacles[0]
    return None


def _stages(actions: Sequence[Action]) -> Iterable[Sequence[Action]]:
    deletes = [action for action in actions if isinstance(action, Delete)]
    services = [a for a in actions if not isinstance(a, Delete) and a.manifest["kind"] == Kind.SERVICE]
    others = [a for a in actions if not isinstance(a, Delete) and a.manifest["kind"] != Kind.SERVICE]
    return deletes, services, others


async def _all(requests: Iterable[Awaitable[Obstacle | None]]) -> list[Obstacle]:
    """Lets every request end before the first error is raised: none may still be on its way in the next pass."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Obstacle)]


async def _carry_out(client: Client, job: Job, action: Action) -> Obstacle | None:
    if isinstance(action, Delete):
        await client.delete(_RESOURCES[action.kind], job.namespace, action.name, action.uid)
        return None
    resource = _RESOURCES[Kind(action.manifest["kind"])]
    try:
        if isinstance(action, Apply):
            await client.apply(resource, action.manifest)
        else:
            await _create(client, resource, job, action)
    except NameTakenError as error:
        return Obstacle(Reason.NAME_TAKEN, str(error))
    except ApiError as error:
        if not error.final:
            raise
        return Obstacle(Reason.CHILD_REJECTED, f"{_called(action.manifest)} was refused by the API server: {error}")
    return None


async def _create(client: Client, resource: Resource, job: Job, action: Create) -> None:
    """Creates a child; one that is there already is fine if it is ours, for then only our reading was stale."""
    try:
        await client.create(resource, action.manifest)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        there = await client.get(resource, job.namespace, action.manifest["metadata"]["name"])
        if there is not None and not is_controlled_by(there, job.uid):
            raise NameTakenError(
                f"{_called(action.manifest)} exists and does not belong to this job: delete it, or give the job "
                "another name"
            ) from None


def _called(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"
