"""Carries out actions: deletions and repairs first, then what pods refer to, then everything else in parallel."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.children import is_controlled_by, is_of_earlier
from qtj_operator.controller.client import ApiError, Client, Resource
from qtj_operator.controller.slices import in_slices
from qtj_operator.core.decision import Action, Create, Delete, Kind, Restore
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.manifests.manifest import Manifest

__all__ = ["PARALLEL", "JobChanged", "act", "always"]

PARALLEL = 8
"""Requests under way at once for one job."""

_AT_ONCE = 20
"""Requests that begin before the event loop runs again: to build and send a pod of a large gang takes a millisecond."""

_RESOURCES = {
    Kind.DEPLOYMENT: Resource.DEPLOYMENTS,
    Kind.JOB: Resource.JOBS,
    Kind.POD: Resource.PODS,
    Kind.POD_GROUP: Resource.POD_GROUPS,
    Kind.NATIVE_POD_GROUP: Resource.NATIVE_POD_GROUPS,
    Kind.QUANTUM_TRAINING_JOB: Resource.QUANTUM_TRAINING_JOBS,
    Kind.SERVICE: Resource.SERVICES,
}

_BEFORE_PODS = {Kind.SERVICE, Kind.POD_GROUP, Kind.NATIVE_POD_GROUP}

_NO_POD_GROUPS = (
    "spec.runPolicy.schedulingPolicy.gang needs PodGroups, which this cluster does not serve: enable those of "
    "Kubernetes (scheduling.k8s.io/v1beta1, from 1.37), install the coscheduling plugin "
    "(scheduling.x-k8s.io/v1alpha1), or create the job without gang"
)


class JobChanged(Exception):
    """The job was deleted, created again, suspended or edited while a pass over it was under way."""


def always(_job: Job) -> bool:
    """Takes every job for current."""
    return True


async def act(
    client: Client, job: Job, actions: Sequence[Action], is_current: Callable[[Job], bool] = always
) -> Obstacle | None:
    """Carries out `actions`; returns what prevents a child, if anything does.

    Args:
        client: The cluster.
        job: The job.
        actions: What to do.
        is_current: Tells whether the job is as it was when the actions were decided; asked before each.

    Raises:
        ApiError: The server could not be reached or is too busy; the pass is to be repeated.
        JobChanged: The job has changed meanwhile; another pass is to decide anew.
    """
    limit = asyncio.Semaphore(PARALLEL)

    async def one(action: Action) -> Obstacle | None:
        async with limit:
            if not is_current(job):
                raise JobChanged
            return await _carry_out(client, job, action)

    for stage in _stages(actions):
        obstacles = await _all(one(action) for action in stage)
        if obstacles:
            return obstacles[0]
    return None


def _stages(actions: Sequence[Action]) -> Iterable[Sequence[Action]]:
    creates = [action for action in actions if isinstance(action, Create)]
    first = [create for create in creates if create.kind in _BEFORE_PODS]
    others = [create for create in creates if create.kind not in _BEFORE_PODS]
    yield [action for action in actions if not isinstance(action, Create)]
    yield from _slow_start(first)
    yield from _slow_start(others)


def _slow_start(creates: Sequence[Create]) -> Iterable[Sequence[Create]]:
    """Yields 1, 2, 4, ... at a time, as the Job controller does: a quota that refuses one refuses the rest."""
    done, size = 0, 1
    while done < len(creates):
        yield creates[done : done + size]
        done, size = done + size, 2 * size


async def _all(requests: Iterable[Awaitable[Obstacle | None]]) -> list[Obstacle]:
    """Lets every request end before the first error is raised: none may still be on its way in the next pass."""
    begun = [asyncio.ensure_future(request) async for request in in_slices(requests, _AT_ONCE)]
    results = await asyncio.gather(*begun, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Obstacle)]


async def _carry_out(client: Client, job: Job, action: Action) -> Obstacle | None:
    if isinstance(action, Create):
        return await _create(client, job, _RESOURCES[action.kind], action.manifest)
    try:
        if isinstance(action, Delete):
            resource = _RESOURCES[action.kind]
            await client.delete(resource, job.namespace, action.name, action.version, force=action.force)
        else:
            await _restore(client, job, action)
    except ApiError as error:
        verb = "deleted" if isinstance(action, Delete) else "repaired"
        return _refusal(error, f"{action.kind} {action.name} cannot be {verb}", type(action))
    return None


def _refusal(error: ApiError, what: str, kind: type[Action]) -> Obstacle:
    """Returns the obstacle that a refusal is; `what` says what cannot be done.

    Raises:
        ApiError: It is none: the server was out of reach or too busy, or has another version of the object.
    """
    if not error.final and error.refused_by is None:
        raise ApiError(error.code, error.reason, f"{what}: {error}", retry_after=error.retry_after) from error
    return Obstacle(Reason.CHILD_REJECTED, f"{what}: {error}", malformed=error.malformed, kind=kind)


async def _restore(client: Client, job: Job, action: Restore) -> None:
    """Replaces the fields whole; what others added to them is in the values already, as far as it stays.

    Raises:
        ApiError: The server refused, or has another version of the object: it calls a patch whose test fails invalid.
    """
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": action.version},
        *({"op": "add", "path": f"/spec/{name}", "value": value} for name, value in action.fields.items()),
    ]
    resource = _RESOURCES[action.kind]
    try:
        await client.patch(resource, job.namespace, action.name, operations)
    except ApiError as error:
        there = await client.get(resource, job.namespace, action.name) if error.malformed else None
        if there is not None and there["metadata"]["resourceVersion"] != action.version:
            raise ApiError(409, "Conflict", f"{action.kind} {action.name} has changed since") from error
        raise


async def _create(client: Client, job: Job, resource: Resource, manifest: Manifest) -> Obstacle | None:
    """Creates a child; one that exists is accepted if it is ours, because then only our reading was stale."""
    called = f"{manifest['kind']} {manifest['metadata']['name']}"
    try:
        await client.create(resource, manifest)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            return await _is_ours(client, resource, job, manifest, called)
        if error.code == 404 and resource is Resource.POD_GROUPS:
            return Obstacle(Reason.CHILD_REJECTED, _NO_POD_GROUPS)
        refused = error.final or error.refused_by
        why = f"was refused by {error.refused_by or 'the API server'}" if refused else "cannot be created"
        return _refusal(error, f"{called} {why}", Create)
    return None


async def _is_ours(client: Client, resource: Resource, job: Job, manifest: Manifest, called: str) -> Obstacle | None:
    there = await client.get(resource, job.namespace, manifest["metadata"]["name"])
    if there is None:
        return None
    if is_of_earlier(there, job.name, job.uid):
        return Obstacle(
            Reason.TERMINATING, f"{called} of an earlier job of this name still ends: this job waits for it"
        )
    if not is_controlled_by(there, job.uid):
        why = f"{called} exists and does not belong to this job: delete it, or give the job another name"
        return Obstacle(Reason.NAME_TAKEN, why)
    if there["metadata"].get("labels", {}).get(LABEL_JOB) != job.name:
        why = f"{called} of this job has lost its label {LABEL_JOB}={job.name}: put the label back, or delete it"
        return Obstacle(Reason.NAME_TAKEN, why)
    return None
