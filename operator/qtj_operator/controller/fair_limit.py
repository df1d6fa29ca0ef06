"""How many requests to the API server are under way, shared fairly by namespaces and by the jobs in each.

A request that an admission webhook holds may take until its timeout, however it ends. What hangs in some namespaces
must leave requests to the others, also in the moment in which it begins to hang. So a namespace begins another request
only while it has fewer under way than half of those that are free::

    namespaces that want all they can get      1     2     5    20
    requests of each, of 140                  47    35    20     6
    requests that are left to others          93    70    40    12

Namespaces whose requests wait are served in turn, and in each of them its jobs.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qtj_operator.controller.client import Key

__all__ = ["REQUESTS", "FairLimit"]

REQUESTS = 140
"""Requests under way at once, beside the watches. An API server answers 200 that change something, and 400 others."""

_SHARE = 0.5
"""What a namespace may have, for each request that is free."""


class FairLimit:
    """Lets requests begin, each in its turn.

    Args:
        requests: How many may be under way at once.
    """

    def __init__(self, requests: int = REQUESTS) -> None:
        self._free = requests
        self._under_way: Counter[str] = Counter()
        self._waiting: dict[str, dict[Key, deque[asyncio.Future[None]]]] = {}
        """By namespace and job, each in the order in which it is served next."""

    @property
    def waiting(self) -> int:
        """How many jobs have a request that waits."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[None]:
        """Waits for the turn of a request for a job, and counts it as under way while the context lasts."""
        if key[0] in self._waiting or not self._has_room(key[0]):
            await self._wait(key)
        else:
            self._begin(key[0])
        try:
            yield
        finally:
            self._end(key[0])

    async def _wait(self, key: Key) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key[0], {}).setdefault(key, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(key[0])
            raise

    def _has_room(self, namespace: str) -> bool:
        return self._under_way[namespace] < self._free * _SHARE

    def _begin(self, namespace: str) -> None:
        self._free -= 1
        self._under_way[namespace] += 1

    def _end(self, namespace: str) -> None:
        self._free += 1
        self._under_way[namespace] -= 1
        if not self._under_way[namespace]:
            del self._under_way[namespace]
        while (able := next(filter(self._has_room, self._waiting), None)) is not None:
            turn = self._next(able)
            if not turn.cancelled():
                self._begin(able)
                turn.set_result(None)

    def _next(self, namespace: str) -> asyncio.Future[None]:
        """Takes the request whose turn it is; its job then comes after others, and so does its namespace."""
        jobs = self._waiting.pop(namespace)
        key = next(iter(jobs))
        line = jobs.pop(key)
        turn = line.popleft()
        if line:
            jobs[key] = line
        if jobs:
            self._waiting[namespace] = jobs
        return turn
