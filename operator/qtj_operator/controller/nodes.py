"""Asks for the nodes of pods that should be gone: one that answers still runs them."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from qtj_operator.controller.act import PARALLEL
from qtj_operator.controller.client import ApiError, Client, Resource
from qtj_operator.controller.parse import parse_readiness
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
from qtj_operator.core.removal import is_late

__all__ = ["with_nodes"]


async def with_nodes(client: Client, seen: Observed, now: datetime) -> Observed:
    """Returns what was seen, with the state of the node of each pod that takes long to go; most passes ask nothing.

    Raises:
        ApiError: The server did not answer, so the state of the node is not known.
    """
    pods = (*seen.pods, *(seen.inference.pods if seen.inference else ()))
    names = sorted({pod.node for pod in pods if pod.node and is_late(pod, now)})
    if not names:
        return seen
    limit = asyncio.Semaphore(PARALLEL)
    ready = dict(zip(names, await asyncio.gather(*(_is_ready(client, limit, name) for name in names)), strict=True))

    def asked(pods: Iterable[Pod]) -> tuple[Pod, ...]:
        return tuple(replace(pod, node_ready=ready.get(pod.node or "")) for pod in pods)

    inference = seen.inference and replace(seen.inference, pods=asked(seen.inference.pods))
    return replace(seen, pods=asked(seen.pods), inference=inference)


async def _is_ready(client: Client, limit: asyncio.Semaphore, name: str) -> bool | None:
    """Returns whether the node answers, which one that is gone does not; None where the operator may not see nodes."""
    try:
        async with limit:
            node = await client.get(Resource.NODES, None, name)
    except ApiError as error:
        if error.code == 403:
            return None
        raise
    return node is not None and parse_readiness(node)
