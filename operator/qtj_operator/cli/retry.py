"""`qtj retry`: a job on a cluster that has failed goes on."""

import asyncio
import logging

from kubernetes.aio import config

from qtj_operator.cli.errors import InputError
from qtj_operator.cluster.api import connect
from qtj_operator.controller.client import ApiError, Client, Key, Resource
from qtj_operator.controller.metrics import Metrics

__all__ = ["raise_retry", "retry_job"]


def retry_job(name: str, namespace: str | None) -> str:
    """Raises `spec.retry` of a job; returns a sentence on what follows.

    Args:
        name: The job's name.
        namespace: Where it is; None for the namespace of the current context.

    Raises:
        InputError: There is no such job, it has not failed, or the API server refuses.
    """
    logging.getLogger("kubernetes").setLevel(logging.CRITICAL)  # what it tells of, we say in a sentence
    try:
        return asyncio.run(_retry(name, namespace))
    except ApiError as error:
        raise InputError(f"{name} cannot be retried: {error}") from None


async def _retry(name: str, namespace: str | None) -> str:
    client = await connect(Metrics())
    try:
        return await raise_retry(client, (namespace or _current_namespace(), name))
    finally:
        await client.close()


async def raise_retry(client: Client, key: Key) -> str:
    """See `retry_job`."""
    namespace, name = key
    job = await client.get(Resource.QUANTUM_TRAINING_JOBS, namespace, name)
    if job is None:
        raise InputError(f"there is no job {name} in namespace {namespace}: `kubectl get qtj -A` lists all")
    status = job.get("status") or {}
    phase = status.get("phase", "Pending")
    if phase != "Failed":
        raise InputError(f"{name} is {phase}: only a job that has failed can be retried")
    if not status.get("attempt"):
        raise InputError(f"{name} never started: correct its spec, and it starts by itself")
    retry = max(job["spec"].get("retry", 0), status.get("retry", 0)) + 1
    await client.patch(
        Resource.QUANTUM_TRAINING_JOBS,
        namespace,
        name,
        [
            {"op": "test", "path": "/metadata/resourceVersion", "value": job["metadata"]["resourceVersion"]},
            {"op": "add", "path": "/spec/retry", "value": retry},
        ],
    )
    trained = any(each["type"] == "Trained" and each["status"] == "True" for each in status.get("conditions") or ())
    begins = f"attempt {status['attempt'] + 1} begins, from the last checkpoint if there is one"
    held = ", once the job is no longer suspended" if job["spec"].get("suspend") else ""
    return f"spec.retry of {name} is {retry} now: {'inference runs again' if trained else begins}{held}"


def _current_namespace() -> str:
    try:
        _, current = config.list_kube_config_contexts()
    except config.ConfigException:  # in a pod there is none
        return "default"
    namespace: str = current["context"].get("namespace") or "default"
    return namespace
