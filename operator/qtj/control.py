"""`qtj suspend`, `resume`, `cancel`, `delete` and `retry`: what a user decides about a job on a cluster."""

from dataclasses import dataclass
from typing import Any

from qtj.cluster.connection import job_named, on_cluster
from qtj.cluster.request import Sent, send_json
from qtj.terminal.errors import InputError
from qtj_operator.api.status import FINISHED
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Client, Key, Object, Resource

__all__ = ["Changed", "delete_job", "raise_retry", "retry_job", "suspend_job"]

_UNCHANGED = " (nothing was changed: --dry-run)"


@dataclass(frozen=True, slots=True)
class Changed:
    """A job that was changed.

    Attributes:
        job: The job as it is now; of a deleted one, as it was last.
        sentence: What follows.
    """

    job: Object
    sentence: str


def suspend_job(name: str, namespace: str | None, *, suspend: bool, dry_run: bool = False) -> Changed:
    """Suspends or resumes a job.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the current context.
        suspend: Whether it is suspended from now on.
        dry_run: Whether to check everything and change nothing.

    Raises:
        InputError: There is no such job, it has finished, or the API server refuses.
    """

    async def ask(client: ApiClient, where: str) -> Changed:
        job = await job_named(client, (where, name))
        _refuse_finished(job, suspend=suspend)
        if bool(job["spec"].get("suspend")) == suspend:
            return Changed(job, f"{name} is {'suspended' if suspend else 'not suspended'}: nothing was changed")
        changed = {**job, "spec": {**job["spec"], "suspend": suspend}}
        if not dry_run:
            operation = {"op": "add", "path": "/spec/suspend", "value": suspend}
            changed = {**await client.patch(Resource.QUANTUM_TRAINING_JOBS, where, name, [operation])}
        return Changed(changed, _what_follows(name, where, suspend=suspend) + (_UNCHANGED if dry_run else ""))

    return on_cluster(ask, namespace, f"{name} cannot be {'suspended' if suspend else 'resumed'}")


def delete_job(name: str, namespace: str | None, *, dry_run: bool = False) -> Changed:
    """Deletes a job and what belongs to it. What it has stored stays.

    Raises:
        InputError: There is no such job, or the API server refuses.
    """

    async def ask(client: ApiClient, where: str) -> Changed:
        job = await job_named(client, (where, name))
        query = {"dryRun": "All"} if dry_run else {}
        await send_json(client.transport, f"{_path(where)}/{name}", query, Sent("DELETE", _options(job)))
        uri = (job["spec"].get("artifacts") or {}).get("uri", "")
        kept = f"what it has stored stays in {uri}" if uri else "what it has stored stays"
        return Changed(job, f"{name} is deleted, with its pods: {kept}{_UNCHANGED if dry_run else ''}")

    return on_cluster(ask, namespace, f"{name} cannot be deleted")


def _options(job: Object) -> dict[str, Any]:
    """Returns the options of the deletion: of this job, and of no other that has its name by now."""
    return {"preconditions": {"uid": job["metadata"]["uid"]}, "propagationPolicy": "Background"}


def _path(namespace: str) -> str:
    base, plural = Resource.QUANTUM_TRAINING_JOBS.value
    return f"{base}/namespaces/{namespace}/{plural}"


def _refuse_finished(job: Object, *, suspend: bool) -> None:
    phase = (job.get("status") or {}).get("phase")
    if phase in FINISHED:
        name = job["metadata"]["name"]
        instead = f": qtj retry {name} continues it" if phase == "Failed" and not suspend else ""
        raise InputError(f"{name} is {phase}, and has no pods any more{instead or ': qtj delete removes it'}")


def _what_follows(name: str, namespace: str, *, suspend: bool) -> str:
    if suspend:
        again = f"`qtj resume {name} -n {namespace}` continues it from its last checkpoint"
        return f"{name} is suspended: its pods end, and {again}"
    return f"{name} is resumed: it continues from its last checkpoint"


def retry_job(name: str, namespace: str | None, *, dry_run: bool = False) -> Changed:
    """Raises `spec.retry` of a job.

    Args:
        name: The job's name.
        namespace: Its namespace; None for the namespace of the current context.
        dry_run: Whether to check everything and change nothing.

    Raises:
        InputError: There is no such job, it has not failed, or the API server refuses.
    """
    return on_cluster(
        lambda client, where: raise_retry(client, (where, name), dry_run=dry_run),
        namespace,
        f"{name} cannot be retried",
    )


async def raise_retry(client: Client, key: Key, *, dry_run: bool = False) -> Changed:
    """See `retry_job`."""
    namespace, name = key
    job = await job_named(client, key)
    status = job.get("status") or {}
    phase = status.get("phase", "Pending")
    if phase != "Failed":
        raise InputError(f"{name} is {phase}: only a job that has failed can be retried")
    if not status.get("attempt"):
        raise InputError(f"{name} never started: correct its spec, and it starts by itself")
    retry = max(job["spec"].get("retry", 0), status.get("retry", 0)) + 1
    if not dry_run:
        version = job["metadata"]["resourceVersion"]
        unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        operations = [unchanged, {"op": "add", "path": "/spec/retry", "value": retry}]
        await client.patch(Resource.QUANTUM_TRAINING_JOBS, namespace, name, operations)
    retried = {**job, "spec": {**job["spec"], "retry": retry}}
    return Changed(retried, _what_follows_a_retry(retried, dry_run=dry_run))


def _what_follows_a_retry(job: Object, *, dry_run: bool) -> str:
    name, spec, status = job["metadata"]["name"], job["spec"], job["status"]
    trained = any(each["type"] == "Trained" and each["status"] == "True" for each in status.get("conditions") or ())
    next_attempt = f"attempt {status['attempt'] + 1} starts, from the last checkpoint if there is one"
    held = ", once the job is no longer suspended" if spec.get("suspend") else ""
    becomes = f"would be {spec['retry']}{_UNCHANGED}" if dry_run else f"is {spec['retry']} now"
    return f"spec.retry of {name} {becomes}: {'inference runs again' if trained else next_attempt}{held}"
