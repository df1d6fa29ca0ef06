"""The HTTP session of kopf's watch.

It shows each list of jobs that kopf asks for, which kopf does at first and after each gap in its watch, in one page.

An answer that breaks off is a connection that failed, and is asked for again. kopf (1.45) repeats a request whose
connection fails, but takes an answer for whole once its headers are there: where a connection breaks within the list of
the server's resources, the error would end the operator.

kopf asks for a silent watch again from the same version, for ever. But a watch may be silent because the API server
does not have that version: etcd was restored from a backup. So a watch that has not advanced for 145 s is asked for
from a version that is too old. The API server answers that it has expired (410), and kopf lists all jobs.

kopf asks once which resources there are, and waits for ever where the answer lacks jobs: a server that has just
started may not know their CRD yet. And it asks for a watch that ended, or that was refused, again without a pause.
"""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from ssl import SSLContext

import aiohttp

from qtj_operator.api.names import GROUP, PLURAL, VERSION
from qtj_operator.cluster.agent import USER_AGENT
from qtj_operator.cluster.turns import Turns
from qtj_operator.controller.client import Object

__all__ = ["session"]

_UNHEARD_SECONDS = 145.0
"""The API server sends a bookmark every two minutes at most; kopf gives up a silent watch after 150 s."""

_EXPIRED = "1"
"""A resourceVersion that has expired: the CRD was created later."""

_RESOURCES = f"/apis/{GROUP}/{VERSION}"
"""Where the API server says which resources there are."""

_BETWEEN_WATCHES_SECONDS = 1.0
"""From the beginning of a watch to that of the next: a proxy, or a server that stops, may end each at once."""


def session(
    headers: Mapping[str, str],
    listed: Callable[[list[Object], str], None],
    *,
    ssl: SSLContext | bool = True,
    proxy: str | None = None,
) -> aiohttp.ClientSession:
    """Returns a session; whoever asks for it closes it.

    Args:
        headers: The credentials.
        listed: Called with all jobs and the resourceVersion of the list, for each list of jobs that is answered.
        ssl: How the server is known; True for the default.
        proxy: The URL of the proxy, if there is one.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl),
        headers={**headers, "User-Agent": USER_AGENT},
        proxy=proxy,
        middlewares=(_Middleware(listed),),
    )


class _Middleware:
    """Sees every request of the session and its answer.

    Args:
        listed: See `session`.
    """

    def __init__(self, listed: Callable[[list[Object], str], None]) -> None:
        self._listed = listed
        self._version = ""
        self._since = 0.0
        self._watches = Turns(_BETWEEN_WATCHES_SECONDS)

    async def __call__(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Waits for the whole answer, except for that of a watch, which has no set end.

        Raises:
            ServerDisconnectedError: The answer broke off, is a page of a proxy, or lacks jobs; kopf tries again after
                this error.
        """
        if "watch" in request.url.query:
            await self._watches.next()
            if self._is_unheard(request.url.query.get("resourceVersion", "")):
                request.url = request.url.update_query(resourceVersion=_EXPIRED)
            return await send(request)
        response = await send(request)
        try:
            await response.read()
            await self._look(request.url.path, response)
        except (aiohttp.ClientPayloadError, ValueError, LookupError, TypeError) as error:
            raise aiohttp.ServerDisconnectedError(f"the answer broke off, or is another's: {error!r}") from error
        return response

    async def _look(self, path: str, response: aiohttp.ClientResponse) -> None:
        """Shows a list of jobs, and checks that discovery knows jobs.

        Raises:
            LookupError: The answer lacks what it has to have.
        """
        if path == _RESOURCES and response.status == HTTPStatus.NOT_FOUND:
            raise LookupError(f"there is no {GROUP}/{VERSION} yet")
        if not response.ok:
            return
        found = await response.json(content_type=None)
        if path == "/apis" and GROUP not in [group["name"] for group in found["groups"]]:
            raise LookupError(f"there is no {GROUP} yet")
        if path == _RESOURCES and PLURAL not in [each["name"] for each in found["resources"]]:
            raise LookupError(f"there are no {PLURAL} yet")
        if path.endswith(f"/{PLURAL}"):
            version = found["metadata"]["resourceVersion"]
            self._heard(version)
            self._listed(found["items"], version)

    def _is_unheard(self, version: str) -> bool:
        """Whether watches have begun at this version for so long that one should have heard something."""
        if version != self._version:
            self._heard(version)
        return asyncio.get_running_loop().time() - self._since >= _UNHEARD_SECONDS

    def _heard(self, version: str) -> None:
        self._version, self._since = version, asyncio.get_running_loop().time()
