"""The HTTP session that kopf watches by: an answer that breaks off is a connection that failed, and is asked for again.

kopf (1.45) repeats a request whose connection fails, but takes an answer for whole once its headers are there: where a
connection breaks within the list of the server's resources, the error would end the operator.
"""

import aiohttp
import kopf

from qtj_operator.cluster.agent import USER_AGENT

__all__ = ["session"]


def session(info: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """Returns a session by kopf's own credentials; kopf closes it."""
    connector = aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context())
    return kopf.AiohttpSession(
        server=info.server,
        default_namespace=info.default_namespace,
        priority=info.priority,
        expiration=info.expiration,
        aiohttp_session=aiohttp.ClientSession(
            connector=connector,
            headers={**info.as_http_headers(), "User-Agent": USER_AGENT},
            proxy=info.proxy_url,
            trust_env=info.trust_env,
            middlewares=(_whole,),
        ),
    )


async def _whole(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
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
    return response
