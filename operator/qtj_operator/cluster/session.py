"""The HTTP session of kopf's watch.

It shows each list of jobs that kopf asks for, which kopf does at first and after each gap in its watch, in one page.

An answer that breaks off is a connection that failed, and is asked for again. kopf (1.45) repeats a request whose
connection fails, but takes an answer for whole once its headers are there: where a connection breaks within the list of
the server's resources, the error would end the operator.
"""

from collections.abc import Callable, Mapping
from functools import partial
from ssl import SSLContext

import aiohttp

from qtj_operator.api.names import PLURAL
from qtj_operator.cluster.agent import USER_AGENT
from qtj_operator.controller.client import Object

__all__ = ["session"]


def session(
    headers: Mapping[str, str],
    listed: Callable[[list[Object], str], None],
    *,
    ssl: SSLContext | bool = True,
    proxy: str | None = None,
    trust_env: bool = False,
) -> aiohttp.ClientSession:
    """Returns a session; whoever asks for it closes it.

    Args:
        headers: The credentials.
        listed: Called with all jobs and the resourceVersion of the list, for each list of jobs that is answered.
        ssl: How the server is known; True for the default.
        proxy: The URL of the proxy, if there is one.
        trust_env: Whether the environment may name a proxy.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl),
        headers={**headers, "User-Agent": USER_AGENT},
        proxy=proxy,
        trust_env=trust_env,
        middlewares=(partial(_whole, listed),),
    )


async def _whole(
    listed: Callable[[list[Object], str], None], request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Waits for the whole answer, but for a watch's, which ends when it likes.

    Raises:
        ServerDisconnectedError: The answer broke off; kopf's list of what to try again has it.
    """
    response = await send(request)
    if "watch" not in request.url.query:
        try:
            await response.read()
        except aiohttp.ClientPayloadError as error:
            raise aiohttp.ServerDisconnectedError(f"the answer broke off: {error}") from error
        if request.url.name == PLURAL and response.ok:
            found = await response.json()
            listed(found["items"], found["metadata"]["resourceVersion"])
    return response
