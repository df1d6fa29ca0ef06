"""The HTTP session of kopf's watch.

It shows each list of jobs that kopf asks for, which kopf does at first and after each gap in its watch. kopf asks for
all jobs in one answer, and to parse 5,000 takes a second in which nothing else happens. So it gets only the last of
several pages, without what is listed: it has no use for that. And what is too large or too deep to be decoded is cut
down before kopf decodes it (`decode.py`): it would end the operator.

An answer that breaks off is a connection that failed, and is asked for again. kopf (1.45) repeats a request whose
connection fails, but takes an answer for whole once its headers are there: where a connection breaks within the list of
the server's resources, the error would end the operator.

kopf asks for a silent watch again from the same version, for ever. But a watch may be silent because the API server
does not have that version: etcd was restored from a backup. So a watch that has not advanced for 145 s is asked for
from a version that is too old. The API server answers that it has expired (410), and kopf lists all jobs.

kopf asks once which resources there are, and waits for ever where the answer lacks jobs: a server that has just
started may not know their CRD yet. And it asks for a watch that ended, or that was refused, again without a pause.
Where the CRD is deleted, kopf would end with a traceback; here that is told once, and asked for again until it is back.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj_operator.api.names import GROUP, PLURAL, VERSION
from qtj_operator.cluster.api import USER_AGENT
from qtj_operator.cluster.decode import Pages, decode_event
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.trim import trimmed

__all__ = ["ANSWER_SECONDS", "BETWEEN_WATCHES_SECONDS", "UNHEARD_SECONDS", "Spacing", "session"]

log = logging.getLogger(__name__)

UNHEARD_SECONDS = 145.0
"""The API server sends a bookmark every two minutes at most; kopf gives up a silent watch after 150 s."""

ANSWER_SECONDS = 60.0
"""How long an answer may take, of a list each page: a thousand large jobs have as many pages, and each page is soon
there. With a limit for the whole list, they would keep the operator from its first one for ever."""

_EXPIRED = "1"
"""A resourceVersion that has expired: the CRD was created later."""

_RESOURCES = f"/apis/{GROUP}/{VERSION}"
"""Where the API server says which resources there are."""

BETWEEN_WATCHES_SECONDS = 1.0
"""From the beginning of a watch to that of the next: a proxy, or a server that stops, may end each at once."""


def session(
    transport: kubernetes.ApiClient, metrics: Metrics, listed: Callable[[list[Object], str], None]
) -> aiohttp.ClientSession:
    """Returns a session; whoever asks for it closes it.

    Args:
        transport: The connection whose server, credentials and proxy it uses. Credentials that expire are renewed.
        metrics: Where requests are counted.
        listed: Called with all jobs, trimmed, and the resourceVersion of the list, for each list that is answered.
    """
    rest = transport.rest_client
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=rest.ssl_context),
        headers={"User-Agent": USER_AGENT},
        proxy=rest.proxy,
        middlewares=(_Middleware(transport, metrics, listed),),
        response_class=_Answer,
    )


class _Answer(aiohttp.ClientResponse):
    """An answer as kopf gets it.

    Attributes:
        instead: What kopf decodes in place of the answer; None for the answer.
    """

    instead: Object | None = None

    async def json(self, **options: Any) -> Any:
        """See `aiohttp.ClientResponse.json`."""
        return await super().json(**options) if self.instead is None else self.instead


class _Events:
    """The lines of a watch, each after it was looked at.

    Args:
        content: The lines as they arrive.
        metrics: Where lines that are no event are counted.
    """

    def __init__(self, content: aiohttp.StreamReader, metrics: Metrics) -> None:
        self._content = content
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        """Returns what aiohttp asks of the content of its answer."""
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yields whole lines."""
        begun = bytearray()
        async for piece in self._content.iter_chunked(size):
            begun += piece
            *lines, begun = begun.split(b"\n") if b"\n" in piece else [begun]
            for line in filter(None, lines):
                try:
                    yield await decode_event(bytes(line)) + b"\n"
                except (ValueError, LookupError, TypeError) as error:
                    self._metrics.skipped(Resource.QUANTUM_TRAINING_JOBS.value[1])
                    log.warning("an event of a job cannot be read and is skipped: %s", error)


class _Middleware:
    """Sees every request of the session and its answer.

    Args:
        transport: See `session`.
        metrics: See `session`.
        listed: See `session`.
    """

    def __init__(
        self, transport: kubernetes.ApiClient, metrics: Metrics, listed: Callable[[list[Object], str], None]
    ) -> None:
        self._transport = transport
        self._metrics = metrics
        self._listed = listed
        self._version = ""
        self._since = 0.0
        self._watches = Spacing(BETWEEN_WATCHES_SECONDS)
        self._has_crd = True

    async def __call__(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Waits for the whole answer, except for that of a watch, which has no set end.

        Raises:
            ServerDisconnectedError: The answer broke off, is a page of a proxy, or lacks jobs; kopf tries again after
                this error.
        """
        await self._transport.update_params_for_auth(
            request.headers, [], ["BearerToken"], str(request.url), request.method, None
        )
        if "watch" in request.url.query:
            await self._watches.next()
            if self._is_unheard(request.url.query.get("resourceVersion", "")):
                request.url = request.url.update_query(resourceVersion=_EXPIRED)
            answer = await self._send(request, send)
            self._check_crd(answer)
            answer.content = _Events(answer.content, self._metrics)  # type: ignore[assignment]  # all that kopf reads
            return answer
        try:
            if request.url.name == PLURAL:
                return await self._list(request, send)
            async with asyncio.timeout(ANSWER_SECONDS):
                response = await self._send(request, send)
                await response.read()
            await self._discovered(request.url.path, response)
        except (aiohttp.ClientPayloadError, TimeoutError, ValueError, LookupError, TypeError) as error:
            raise aiohttp.ServerDisconnectedError(f"the answer broke off, or is another's: {error!r}") from error
        return response

    async def _list(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Asks for all jobs, page by page, and shows them; returns the end of the list without jobs, or a refusal.

        Raises:
            LookupError: An answer lacks what it has to have, or the list has become too old for its next page.
            ServerDisconnectedError: There is no CRD of jobs.
        """
        jobs = list[Object]()
        page, size = dict[str, str | int](), Pages(Resource.QUANTUM_TRAINING_JOBS)
        while True:
            request.url = request.url.update_query({**page, "limit": size.limit})
            async with asyncio.timeout(ANSWER_SECONDS):
                response = await self._send(request, send)
                self._check_crd(response)
                if not response.ok:
                    await response.read()
                    if "continue" in page and response.status == HTTPStatus.GONE:
                        raise LookupError("the list has become too old for its next page")
                    return response
                found = await size.read(response)
            if found is None:
                continue
            jobs += (trimmed(Resource.QUANTUM_TRAINING_JOBS, job) for job in found["items"])
            meta = found["metadata"]
            if not meta.get("continue"):
                break
            page["continue"] = meta["continue"]
        self._heard(meta["resourceVersion"])
        self._listed(jobs, meta["resourceVersion"])
        if isinstance(response, _Answer):
            response.instead = {**found, "items": []}
        return response

    def _check_crd(self, response: aiohttp.ClientResponse) -> None:
        """Checks that the API server still knows jobs, and logs once if it does not.

        Raises:
            ServerDisconnectedError: It does not: kopf asks again.
        """
        missing = response.status == HTTPStatus.NOT_FOUND
        if missing and self._has_crd:
            log.error("the CRD of %s.%s was deleted, and all jobs with it: kubectl apply -f crds/", PLURAL, GROUP)
        self._has_crd = not missing
        if missing:
            raise aiohttp.ServerDisconnectedError(f"there are no {PLURAL}")

    async def _send(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Sends a request, and counts it."""
        verb, code = "WATCH" if "watch" in request.url.query else request.method, 0
        try:
            answer = await send(request)
            code = answer.status
            return answer
        finally:
            self._metrics.requested(verb, _resource_of(request.url.path), code)

    async def _discovered(self, path: str, response: aiohttp.ClientResponse) -> None:
        """Checks that discovery knows jobs.

        Raises:
            LookupError: It does not.
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

    def _is_unheard(self, version: str) -> bool:
        """Whether watches have begun at this version for so long that one should have heard something."""
        if version != self._version:
            self._heard(version)
        return asyncio.get_running_loop().time() - self._since >= UNHEARD_SECONDS

    def _heard(self, version: str) -> None:
        self._version, self._since = version, asyncio.get_running_loop().time()


def _resource_of(path: str) -> str:
    """Returns what a request of kopf's is about: jobs, or what the server has."""
    return PLURAL if f"/{PLURAL}" in path else "discovery"


class Spacing:
    """Turns that follow each other, for requests that another library would repeat without a pause.

    Args:
        seconds: From the beginning of a turn to that of the next, at least.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._latest = -math.inf

    async def next(self) -> bool:
        """Waits for the next turn; returns whether it had to wait."""
        now = asyncio.get_running_loop().time()
        begins = max(now, self._latest + self._seconds)
        self._latest = begins
        if begins > now:
            await asyncio.sleep(begins - now)
        return begins > now
