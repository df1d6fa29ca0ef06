"""Sends a job or a study, and the ConfigMap with its program, so that nothing is half created.

Both are tried first (`dryRun`), so a missing right or a mistake is found before anything is written. Then comes the
job, and then the ConfigMap, which the job owns from the start: at no moment is there a ConfigMap without a job that it
goes with. A job whose ConfigMap cannot be created is deleted again. If the command is killed in between, the pods of
the job wait for the ConfigMap, and the same command creates it. A study is sent as a job is.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qtj.cluster.connection import check_studies, jobs_in
from qtj.cluster.request import APPLY, Sent, send_json
from qtj.script.objects import with_owner
from qtj.terminal.errors import InputError
from qtj_operator.api.names import PLURAL
from qtj_operator.api.status import FINISHED
from qtj_operator.api.study import STUDY_KIND, STUDY_PLURAL
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource

__all__ = ["Submission", "send"]

_MANAGER = "qtj"
_NOT_FOUND, _CONFLICT = 404, 409
_DRY_RUN = {"dryRun": "All"}
_FIXED = {
    "program": "another program",
    "template": "other arguments, other resources or another image",
    "artifacts": "another place for its artifacts",
}
"""What differs if a field does, in the order in which it is reported."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What is sent.

    Attributes:
        job: The job, or the study.
        config_map: The ConfigMap with its program; None for a job or a study of a file.
    """

    job: Mapping[str, Any]
    config_map: Mapping[str, Any] | None = None

    def placed(self, namespace: str) -> "Submission":
        """Returns the same in a namespace, where the job names none."""
        config_map = self.config_map and _placed(self.config_map, namespace)
        return Submission(_placed(self.job, namespace), config_map)


async def send(client: ApiClient, submission: Submission, *, dry_run: bool) -> Object:
    """Sends a job, as server-side apply does; returns it as it is stored.

    Args:
        client: The cluster.
        submission: What to send, with its namespace.
        dry_run: Whether the API server only checks it.

    Raises:
        InputError: Another job or study has the name, or the cluster does not know this kind of object.
        ApiError: The API server refuses, or cannot be reached.
    """
    job, config_map = submission.job, submission.config_map
    resource = Resource.QUANTUM_TRAINING_STUDIES if _is_study(job) else Resource.QUANTUM_TRAINING_JOBS
    there = await client.get(resource, job["metadata"]["namespace"], job["metadata"]["name"])
    if config_map:
        _refuse_other(there, job)
    tried = await _apply(client, job, _DRY_RUN)
    if config_map:
        await _try_create(client, config_map)
    if dry_run:
        return tried
    stored = await _apply(client, job, {})
    if config_map:
        await _give(client, stored, config_map, is_new=there is None)
    return stored


def _placed(manifest: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    return {**manifest, "metadata": {"namespace": namespace, **manifest["metadata"]}}


def _refuse_other(there: Object | None, job: Mapping[str, Any]) -> None:
    if there is None:
        return
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    kind, other, remove = ("study", "name", "kubectl delete qts") if _is_study(job) else ("job", "--name", "qtj delete")
    if there["metadata"].get("deletionTimestamp"):
        raise InputError(f"the {kind} {name} in namespace {namespace} is being deleted: try again when it is gone")
    before, now = (each["spec"].get("jobTemplate", each["spec"]) for each in (there, job))
    for field, what in _FIXED.items():
        if before.get(field) != now.get(field):
            raise InputError(
                f"there is a {kind} {name} in namespace {namespace} with {what}: choose another {other}, or remove "
                f"that {kind} with `{remove} {name} -n {namespace}`"
            )
    if not _is_study(job):  # which goes on with more values or seeds
        _refuse_ended(there, name, namespace)


def _is_study(manifest: Mapping[str, Any]) -> bool:
    return bool(manifest["kind"] == STUDY_KIND)


def _plural(manifest: Mapping[str, Any]) -> str:
    return STUDY_PLURAL if _is_study(manifest) else PLURAL


def _refuse_ended(there: Object, name: str, namespace: str) -> None:
    """A job that has ended stays as it is, so a user who sends it again would wait for nothing."""
    phase = (there.get("status") or {}).get("phase")
    if phase not in FINISHED:
        return
    ways = [f"continue it with `qtj retry {name} -n {namespace}`"] if phase == "Failed" else []
    ways += ["choose another --name", f"or remove it with `qtj delete {name} -n {namespace}`"]
    raise InputError(f"the job {name} in namespace {namespace} is {phase}, and does not run again: {', '.join(ways)}")


async def _apply(client: ApiClient, job: Mapping[str, Any], query: Mapping[str, str]) -> Object:
    meta, version = job["metadata"], job["apiVersion"]
    path = f"/apis/{version}/namespaces/{meta['namespace']}/{_plural(job)}/{meta['name']}"
    fields = {"fieldManager": _MANAGER, "fieldValidation": "Strict", **query}
    try:
        return await send_json(client.transport, path, fields, Sent("PATCH", job, APPLY))
    except ApiError as problem:
        if problem.code == _NOT_FOUND:
            known = check_studies if _is_study(job) else jobs_in
            await known(client, meta["namespace"])  # says if they are not installed
        raise


async def _try_create(client: ApiClient, config_map: Mapping[str, Any]) -> None:
    try:
        await _create(client, config_map, _DRY_RUN)
    except ApiError as problem:
        if problem.code != _CONFLICT:
            raise


async def _give(client: ApiClient, job: Object, config_map: Mapping[str, Any], *, is_new: bool) -> None:
    """Creates the ConfigMap of a job, or deletes the job if it is new and that fails."""
    try:
        await _create_owned(client, job, with_owner(config_map, job))
    except (ApiError, asyncio.CancelledError):
        if is_new:
            await _delete(client, _path_of(job, _plural(job), f"/apis/{job['apiVersion']}"), job)
        raise


async def _create_owned(client: ApiClient, job: Object, config_map: Mapping[str, Any]) -> None:
    """Creates a ConfigMap. One that has its name belongs to this job, or to a deleted one, and goes with that."""
    try:
        await _create(client, config_map, {})
    except ApiError as problem:
        if problem.code != _CONFLICT:
            raise
        path = _path_of(config_map, "configmaps")
        found = await send_json(client.transport, path, {}, Sent())
        if job["metadata"]["uid"] in {each["uid"] for each in found["metadata"].get("ownerReferences") or ()}:
            return
        await _delete(client, path, found)
        await _create(client, config_map, {})


async def _create(client: ApiClient, config_map: Mapping[str, Any], query: Mapping[str, str]) -> None:
    path = _path_of(config_map, "configmaps").rpartition("/")[0]
    await send_json(client.transport, path, {"fieldManager": _MANAGER, **query}, Sent("POST", config_map))


async def _delete(client: ApiClient, path: str, obj: Object) -> None:
    preconditions = {"uid": obj["metadata"]["uid"]}
    body = {"preconditions": preconditions, "propagationPolicy": "Background"}
    try:
        await send_json(client.transport, path, {}, Sent("DELETE", body))
    except ApiError as problem:
        if problem.code != _NOT_FOUND:
            raise


def _path_of(obj: Mapping[str, Any], plural: str, base: str = "/api/v1") -> str:
    return f"{base}/namespaces/{obj['metadata']['namespace']}/{plural}/{obj['metadata']['name']}"
