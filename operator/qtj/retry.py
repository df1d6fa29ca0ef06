"""`qtj retry`: lets a failed job on a cluster continue."""

from dataclasses import dataclass

from qtj.cluster.connection import job_named, on_cluster
from qtj.terminal.errors import InputError
from qtj_operator.controller.client import Client, Key, Object, Resource

__all__ = ["Retried", "raise_retry", "retry_job"]


@dataclass(frozen=True, slots=True)
class Retried:
    """A job that was retried.

    Attributes:
        job: The job, with its new `spec.retry`.
        sentence: What happens next.
    """

    job: Object
    sentence: str


def retry_job(name: str, namespace: str | None, *, dry_run: bool = False) -> Retried:
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


async def raise_retry(client: Client, key: Key, *, dry_run: bool = False) -> Retried:
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
    return Retried(retried, _what_follows(retried, dry_run=dry_run))


def _what_follows(job: Object, *, dry_run: bool) -> str:
    name, spec, status = job["metadata"]["name"], job["spec"], job["status"]
    trained = any(each["type"] == "Trained" and each["status"] == "True" for each in status.get("conditions") or ())
    next_attempt = f"attempt {status['attempt'] + 1} starts, from the last checkpoint if there is one"
    held = ", once the job is no longer suspended" if spec.get("suspend") else ""
    becomes = f"would be {spec['retry']} (nothing was changed: --dry-run)" if dry_run else f"is {spec['retry']} now"
    return f"spec.retry of {name} {becomes}: {'inference runs again' if trained else next_attempt}{held}"
