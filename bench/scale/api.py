"""A small client of the API server: it creates, deletes, and sees in a watch when what it waits for has happened."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp

from tools.api_server import unverified

NAMESPACE = "scale"
CONNECTIONS = 32
"""How many requests of ours are on their way at once."""

Manifest = dict[str, Any]
Holds = Callable[[Manifest], object]


class Api:
    """The API server, in one namespace.

    Args:
        session: A session with the credentials.
        url: Of the server.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def create(self, api: str, plural: str, manifest: Manifest) -> None:
        """Creates one object."""
        await self._request("POST", self._path(api, plural), json=manifest)

    async def create_all(self, calls: Iterable[tuple[str, str, Manifest]]) -> None:
        """Creates objects in this order, so many at once."""
        queue = iter(calls)

        async def work() -> None:
            for call in queue:
                await self.create(*call)

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))

    async def count(self, api: str, plural: str) -> int:
        """Returns how many objects there are."""
        answer = await self._request("GET", self._path(api, plural), params={"limit": "1"})
        return len(answer["items"]) + int(answer["metadata"].get("remainingItemCount", 0))

    async def delete_all(self, api: str, plural: str) -> None:
        """Deletes every object of a kind, at once and for good; the server may not manage all within its minute."""
        policy = {"propagationPolicy": "Background", "gracePeriodSeconds": "0"}
        await self._request("DELETE", self._path(api, plural), params=policy, allowed=HTTPStatus.GATEWAY_TIMEOUT)

    async def version(self, api: str, plural: str) -> str:
        """Returns the version that a watch of all that follows begins with."""
        answer = await self._request("GET", self._path(api, plural), params={"limit": "1"})
        return str(answer["metadata"]["resourceVersion"])

    async def events(self, api: str, plural: str, version: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yields what happens from a version on; a watch that the server ends, as it does a slow one, continues."""
        while True:
            params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3000"}
            async with self._session.get(self._path(api, plural), params=params) as answer:
                answer.raise_for_status()
                async for line in _lines(answer):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(f"watch of {plural}: {event['object']}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event

    def _path(self, api: str, plural: str) -> str:
        root = "/api/v1" if api == "v1" else f"/apis/{api}"
        return f"{self._url}{root}/namespaces/{NAMESPACE}/{plural}"

    async def _request(self, method: str, url: str, *, allowed: int = HTTPStatus.OK, **options: Any) -> Any:
        async with self._session.request(method, url, **options) as answer:
            body = await answer.read()
            if not answer.ok and answer.status != allowed:
                raise RuntimeError(f"{method} {url}: {answer.status} {body[:300]!r}")
            return json.loads(body)


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for part in answer.content.iter_any():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Api]:
    """Opens a session, until the context ends."""
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + 8, ssl=unverified())
    headers = {"Authorization": f"Bearer {token}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
        yield Api(session, url)


class Marks:
    """When each object of a kind was first seen, and first seen as it should be.

    Args:
        holds: Tells whether an object is as it should be; None where its existence is all.
    """

    def __init__(self, holds: Holds | None = None) -> None:
        self._holds = holds or bool
        self._at: dict[str, float] = {}
        self._changed = asyncio.Event()

    def note(self, event: Mapping[str, Any]) -> None:
        """Takes an event of a watch."""
        name = event["object"]["metadata"].get("name", "")
        if event["type"] in {"ADDED", "MODIFIED"} and name not in self._at and self._holds(event["object"]):
            self._at[name] = time.monotonic()
            self._changed.set()

    def times(self) -> list[float]:
        """Returns the moments so far, in order."""
        return sorted(self._at.values())

    def at(self, name: str) -> float:
        """Returns the moment of one object."""
        return self._at[name]

    async def include(self, names: Iterable[str]) -> None:
        """Waits for these objects."""
        for name in names:
            while name not in self._at:
                self._changed.clear()
                await self._changed.wait()

    async def reached(self, count: int) -> float:
        """Waits for so many objects; returns the moment of the last."""
        while len(self._at) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.times()[count - 1]


@asynccontextmanager
async def watched(api: Api, group: str, plural: str, holds: Holds | None = None) -> AsyncIterator[Marks]:
    """Follows the objects of a kind until the context ends."""
    marks, version = Marks(holds), await api.version(group, plural)

    async def follow() -> None:
        async for event in api.events(group, plural, version):
            marks.note(event)

    async with asyncio.TaskGroup() as tasks:  # a watch that fails ends who waits for it
        task = tasks.create_task(follow())
        yield marks
        task.cancel()


async def until(holds: Callable[[], Awaitable[bool]], pause: float = 0.5) -> None:
    """Waits until something holds."""
    while not await holds():  # noqa: ASYNC110  it is outside of this program
        await asyncio.sleep(pause)
