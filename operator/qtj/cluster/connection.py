"""A connection to the cluster for one command, the jobs there, and errors as sentences for its user."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kubernetes.aio import config

from qtj.cluster.choice import CHOICE
from qtj.terminal.errors import InputError, meant
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import connect
from qtj_operator.controller.client import ApiError, Client, Key, Object, Resource
from qtj_operator.controller.metrics import Metrics

__all__ = ["check_studies", "connected", "current_namespace", "job_named", "jobs_in", "on_cluster", "quiet"]

T = TypeVar("T")

_NAMESPACE = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123): what else is asked for would be another address of the API."""
_NOT_FOUND = 404


def on_cluster(ask: Callable[[ApiClient, str], Coroutine[Any, Any, T]], namespace: str | None, refused: str = "") -> T:
    """Connects to the cluster, asks it something, and closes the connection.

    Args:
        ask: What to ask, with the connection and the namespace.
        namespace: The namespace; None for that of the current context.
        refused: Begins the sentence about what the API server refuses, for example "qcnn cannot be retried".

    Raises:
        InputError: There is no cluster, it refuses, or no namespace can have that name.
    """
    quiet()
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise InputError(f'"{namespace}" is no name of a namespace: `kubectl get namespaces` lists them')
    try:
        return asyncio.run(_asked(ask, namespace))
    except ApiError as error:
        raise InputError(f"{refused}: {error}" if refused else str(error)) from None


async def _asked(ask: Callable[[ApiClient, str], Coroutine[Any, Any, T]], namespace: str | None) -> T:
    async with connected() as client:
        return await ask(client, namespace or current_namespace())


@asynccontextmanager
async def connected() -> AsyncIterator[ApiClient]:
    """Connects to the cluster of the context that the command line names, or else of the current one.

    Raises:
        ApiError: There is none.
    """
    client = await connect(Metrics(), CHOICE.context)
    try:
        yield client
    finally:
        await client.close()


def quiet() -> None:
    """Keeps the client library from logging: its errors become one sentence."""
    logging.getLogger("kubernetes").setLevel(logging.CRITICAL)


def current_namespace() -> str:
    """Returns the namespace of the context that the command line names, or else of the current one."""
    if CHOICE.context:
        return CHOICE.namespace
    try:
        _, current = config.list_kube_config_contexts()
    except config.ConfigException:  # in a pod there is none
        return "default"
    namespace: str = current["context"].get("namespace") or "default"
    return namespace


async def job_named(client: Client, key: Key) -> Object:
    """Returns a job.

    Raises:
        InputError: There is none of that name, or the cluster does not know QuantumTrainingJobs.
        ApiError: The API server refuses, or cannot be reached.
    """
    namespace, name = key
    is_name = re.fullmatch(NAME_PATTERN, name)  # what else is asked for would be another address of the API
    job = await client.get(Resource.QUANTUM_TRAINING_JOBS, namespace, name) if is_name else None
    if job is None:
        names = [each["metadata"]["name"] for each in await jobs_in(client, namespace)]
        all_of_them = "`kubectl get qtj -A` lists all"
        raise InputError(f"there is no job {name} in namespace {namespace}{meant(name, names)}: {all_of_them}")
    return job


async def jobs_in(client: Client, namespace: str | None) -> Sequence[Object]:
    """Returns the jobs of a namespace, or of all.

    Raises:
        InputError: The cluster does not know QuantumTrainingJobs.
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _all(client, Resource.QUANTUM_TRAINING_JOBS, "QuantumTrainingJobs", namespace)


async def check_studies(client: Client, namespace: str) -> None:
    """Asks whether the cluster has studies.

    Raises:
        InputError: It does not know QuantumTrainingStudies.
        ApiError: The API server refuses, or cannot be reached.
    """
    await _all(client, Resource.QUANTUM_TRAINING_STUDIES, "QuantumTrainingStudies", namespace)


async def _all(client: Client, resource: Resource, name: str, namespace: str | None) -> Sequence[Object]:
    try:
        return await client.list(resource, namespace, {})
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        raise InputError(f"the cluster has no {name}: install them with kubectl apply -k crds") from None
