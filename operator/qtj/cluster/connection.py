"""A connection to the cluster for one command, whose errors are sentences for its user."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kubernetes.aio import config

from qtj.cluster.choice import CHOICE
from qtj.terminal.errors import InputError
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import connect
from qtj_operator.controller.client import ApiError
from qtj_operator.controller.metrics import Metrics

__all__ = ["connected", "current_namespace", "on_cluster", "quiet"]

T = TypeVar("T")

_NAMESPACE = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123): what else is asked for would be another address of the API."""


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
