"""Asks the leading replicas of running jobs how far they are."""

import asyncio
from collections.abc import Callable

import aiohttp

from qtj_operator.api.contract import PROGRESS_PATH, Progress
from qtj_operator.api.job import METRICS_PORT
from qtj_operator.controller.client import Key

__all__ = ["ProgressPoller"]

_PERIOD_SECONDS = 5.0
_TIMEOUT = aiohttp.ClientTimeout(total=2)
_PARALLEL = 32
_MAX_BYTES = 4096


class ProgressPoller:
    """Polls progress endpoints at a bounded rate; a `qtj_operator.controller.client.ProgressSource`.

    A program without the endpoint, or out of reach, simply has no progress.

    Args:
        hint: Called with the key of every job whose progress has changed.
    """

    def __init__(self, hint: Callable[[Key], None]) -> None:
        self._hint = hint
        self._addresses: dict[Key, str] = {}
        self._latest: dict[Key, Progress] = {}

    def latest(self, key: Key, address: str | None) -> Progress | None:
        """See `ProgressSource.latest`."""
        if address is None:
            self._addresses.pop(key, None)
            self._latest.pop(key, None)
        else:
            self._addresses[key] = address
        return self._latest.get(key)

    async def run(self) -> None:
        """Polls until cancelled."""
        limit = asyncio.Semaphore(_PARALLEL)
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            while True:
                await asyncio.gather(*(self._ask(session, limit, *item) for item in list(self._addresses.items())))
                await asyncio.sleep(_PERIOD_SECONDS)

    async def _ask(self, session: aiohttp.ClientSession, limit: asyncio.Semaphore, key: Key, address: str) -> None:
        host = f"[{address}]" if ":" in address else address
        async with limit:
            try:
                async with session.get(f"http://{host}:{METRICS_PORT}{PROGRESS_PATH}") as answer:
                    said = Progress.parse((await answer.content.read(_MAX_BYTES)).decode(errors="replace"))
            except (aiohttp.ClientError, TimeoutError, OSError):
                return
        if said is not None and key in self._addresses and said != self._latest.get(key):
            self._latest[key] = said
            self._hint(key)
