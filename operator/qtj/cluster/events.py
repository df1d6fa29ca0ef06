"""Events of a cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes.aio import client as kubernetes

from qtj.cluster.request import get_json
from qtj_operator.api.names import KIND
from qtj_operator.controller.client import Object

__all__ = ["events_in", "events_of_job"]

_PAGE = 500


async def events_of_job(transport: kubernetes.ApiClient, namespace: str, name: str) -> Sequence[Object]:
    """Returns the events about a job itself, also those of an earlier job of that name.

    Raises:
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _events(transport, namespace, f"involvedObject.kind={KIND},involvedObject.name={name}")


async def events_in(transport: kubernetes.ApiClient, namespace: str) -> Sequence[Object]:
    """Returns all events of a namespace.

    Raises:
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _events(transport, namespace, "")


async def _events(transport: kubernetes.ApiClient, namespace: str, selector: str) -> Sequence[Object]:
    query = {"limit": str(_PAGE), **({"fieldSelector": selector} if selector else {})}
    found: list[Object] = []
    while True:
        page: Mapping[str, Any] = await get_json(transport, f"/api/v1/namespaces/{namespace}/events", query)
        found += ({"apiVersion": "v1", "kind": "Event", **each} for each in page["items"])  # a list leaves them out
        if not (token := page["metadata"].get("continue")):
            return found
        query["continue"] = token
