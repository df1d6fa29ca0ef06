"""A work queue of keys: each key at most once, one pass at a time, with back-off after errors.

What a watch says is only a hint that a key is worth a look, so hints may be merged freely. A key that is added while
its pass is running is looked at again afterwards, because that pass may have read too early.

It does what client-go's work queue does for controllers in Go. Written here because the queues of asyncio and kopf hand
out a key again while its pass is running, and know neither a time nor a back-off for each key.
"""

import asyncio
import contextlib
import heapq
import itertools
import random
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)

_FIRST_DELAY = 0.2
_LAST_DELAY = 60.0

_REST_SECONDS = 0.2
"""From the end of a pass until news leads to the next: the pods of a job change one by one, and a pass looks at all."""


def _all_alike(_key: object) -> None:
    """Puts all keys into one group."""


class WorkQueue(Generic[K]):
    """Keys that wait for a pass. Groups of keys have their turns one after the other, and in each of them its keys.

    Args:
        group: Returns the group of a key, such as its namespace: one with a thousand keys is not before all others.
        jitter: Spreads back-off by up to this fraction, so that keys that failed together do not return together.
    """

    def __init__(self, group: Callable[[K], Hashable] = _all_alike, *, jitter: float = 0.2) -> None:
        self._group = group
        self._ready: dict[Hashable, dict[K, None]] = {}
        self._running: set[K] = set()
        self._again: set[K] = set()
        self._news: set[K] = set()
        self._rested: dict[K, float] = {}
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._order = itertools.count()
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()
        self._jitter = jitter

    def __len__(self) -> int:
        """How many keys are due now, also if nobody has asked since their time came."""
        self._wake_due()
        return sum(map(len, self._ready.values()))

    def add(self, key: K) -> None:
        """Makes the key due now."""
        if key in self._running:
            self._again.add(key)
        else:
            self._ready.setdefault(self._group(key), {}).setdefault(key)
            self._wake.set()

    def add_news(self, key: K) -> None:
        """Makes the key due now, or once it has rested from its last pass: news comes in bursts.

        After a pass that failed it rests for as long as the server asked.
        """
        if key in self._running:
            self._news.add(key)
        elif (rest := self._rested.get(key, 0) - asyncio.get_running_loop().time()) > 0:
            self.add_after(key, rest)
        else:
            self.add(key)

    def add_after(self, key: K, delay: float) -> None:
        """Makes the key due after `delay` seconds, or earlier if it was going to be."""
        due = asyncio.get_running_loop().time() + delay
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        heapq.heappush(self._later, (due, next(self._order), key))
        self._tidy()
        self._wake.set()

    def wait_no_more(self, key: K) -> None:
        """Drops what `add_after` asked for: the key is gone, or nothing is to happen to it by itself."""
        if self._due.pop(key, None) is not None:
            self._tidy()

    def _tidy(self) -> None:
        """Drops entries that were replaced or dropped once they are most: their time may be a week off."""
        if len(self._later) > 2 * len(self._due):
            self._later = [entry for entry in self._later if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(self._later)

    async def take(self) -> K:
        """Waits for a key that is due and returns it; `done` or `retry` must follow."""
        self._wake_due()
        while not self._ready:
            await self._sleep()
            self._wake_due()
        group = next(iter(self._ready))
        keys = self._ready.pop(group)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._ready[group] = keys
        self._running.add(key)
        return key

    def done(self, key: K) -> None:
        """Ends a pass that went well."""
        self._failures.pop(key, None)
        self._rest(key, _REST_SECONDS)
        self._release(key)

    def retry(self, key: K, longest: float = _LAST_DELAY, shortest: float = 0.0, *, hung: bool = False) -> float:
        """Ends a pass that failed and makes the key due again after a growing delay.

        Args:
            key: Whose pass failed.
            longest: What the delay grows to, in seconds.
            shortest: How many seconds the server asked to wait; at most the longest delay counts.
            hung: Whether an answer took very long. Such a pass takes requests from others, so the second in a row is
                followed by the longest delay.

        Returns:
            The delay in seconds.
        """
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        has_news = key in self._news
        spread = 1 + self._jitter * random.random()
        grown = longest if hung and failures > 1 else min(_FIRST_DELAY * 2.0 ** min(failures - 1, 30), longest)
        delay = max(grown, min(shortest, _LAST_DELAY)) * spread
        self._rest(key, max(_REST_SECONDS, min(shortest, _LAST_DELAY)))
        self._running.discard(key)
        self._again.discard(key)
        self._news.discard(key)
        self.add_after(key, delay)
        if has_news:
            self.add_news(key)
        return delay

    def _rest(self, key: K, seconds: float) -> None:
        """Notes until when a key rests, and drops the first in the dictionary as long as they have rested."""
        now = asyncio.get_running_loop().time()
        self._rested.pop(key, None)
        self._rested[key] = now + seconds
        while self._rested[oldest := next(iter(self._rested))] <= now:
            del self._rested[oldest]

    def _release(self, key: K) -> None:
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        if key in self._news:
            self._news.discard(key)
            self.add_news(key)

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        self._wake.clear()
        timeout = self._later[0][0] - loop.time() if self._later else None
        if timeout is None or timeout > 0:
            # Not wait_for, which until Python 3.12 forgets a cancellation that comes together with what it waits for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._wake.wait()

    def _wake_due(self) -> None:
        """Puts keys whose time has come behind those that were due before."""
        now = asyncio.get_running_loop().time()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
