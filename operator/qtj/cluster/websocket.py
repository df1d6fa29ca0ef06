"""A websocket to a pod, as the API server opens one for `kubectl port-forward` and `kubectl exec`.

Each of its messages begins with the number of its channel.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
from kubernetes.aio import client as kubernetes

__all__ = ["websocket"]

_PROTOCOL = "v4.channel.k8s.io"


@asynccontextmanager
async def websocket(transport: kubernetes.ApiClient, path: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Opens a websocket.

    Args:
        transport: The connection, which has been used before.
        path: The path of the address, with its query.

    Raises:
        aiohttp.ClientError: The API server refuses, or the connection is lost.
    """
    url, rest = f"{transport.configuration.host}{path}", transport.rest_client
    headers: dict[str, str] = {}
    await transport.update_params_for_auth(headers, [], ["BearerToken"], url, "GET", None)
    session = cast("aiohttp.ClientSession", rest.pool_manager)
    connecting = session.ws_connect(
        url,
        protocols=(_PROTOCOL,),
        headers=headers,
        server_hostname=transport.configuration.tls_server_name,
        proxy=rest.proxy,
        proxy_headers=rest.proxy_headers,
    )
    async with connecting as connection:
        yield connection
