"""Asks the leading replicas of running jobs how far they are, and evaluators what they have measured."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from qtj_contract import Progress
from qtj_operator.controller.client import Key

__all__ = ["NoProgress", "Poller"]

_PARALLEL = 32

_Asked = tuple[Key, bool]
"""A job, and whether its evaluator is asked rather than its leader."""


class NoProgress:
    """A `qtj_operator.controller.client.ProgressSource` that asks nobody."""

    def follow(self, key: Key, address: str, *, evaluator: bool = False) -> None:
        """Does nothing."""

    def latest(self, _key: Key, *, evaluator: bool = False) -> None:  # noqa: ARG002
        """Returns None."""
        return

    def forget(self, key: Key, *, evaluator: bool = False) -> None:
        """Does nothing."""


class Poller(ABC):
    """Polls progress endpoints at a bounded rate; a `qtj_operator.controller.client.ProgressSource`.

    A program without the endpoint, or out of reach, simply has no progress.

    Args:
        hint: Called with the key of every job whose progress has changed.
        period: Seconds from the end of one round to the next.
        patience: Seconds for which a change of the step alone is kept back: what else there is changes with an epoch
            or a checkpoint.
    """

    def __init__(self, hint: Callable[[Key], None], period: float, *, patience: float = 0.0) -> None:
        self._hint = hint
        self._period = period
        self._patience = patience
        self._hinted: dict[_Asked, tuple[Progress, float]] = {}
        self._addresses: dict[_Asked, str] = {}
        self._latest: dict[_Asked, Progress] = {}

    def follow(self, key: Key, address: str, *, evaluator: bool = False) -> None:
        """See `ProgressSource.follow`."""
        self._addresses[key, evaluator] = address

    def latest(self, key: Key, *, evaluator: bool = False) -> Progress | None:
        """See `ProgressSource.latest`."""
        return self._latest.get((key, evaluator))

    def forget(self, key: Key, *, evaluator: bool = False) -> None:
        """See `ProgressSource.forget`."""
        self._addresses.pop((key, evaluator), None)
        self._latest.pop((key, evaluator), None)
        self._hinted.pop((key, evaluator), None)

    async def run(self) -> None:
        """Polls until cancelled."""
        limit = asyncio.Semaphore(_PARALLEL)
        while True:
            await asyncio.gather(*(self._ask(limit, *item) for item in list(self._addresses.items())))
            await asyncio.sleep(self._period)

    @abstractmethod
    async def fetch(self, key: Key, address: str, *, evaluator: bool = False) -> bytes | None:
        """Returns what the leader of a job answers, or its evaluator, or None when it cannot be reached."""

    async def _ask(self, limit: asyncio.Semaphore, asked: _Asked, address: str) -> None:
        key, evaluator = asked
        async with limit:
            answer = await self.fetch(key, address, evaluator=evaluator)
        answered = None if answer is None else Progress.parse(answer.decode(errors="replace"))
        if answered is None or asked not in self._addresses:
            return
        self._latest[asked] = answered
        if self._is_worth_a_pass(asked, answered):
            self._hinted[asked] = (answered, time.monotonic())
            self._hint(key)

    def _is_worth_a_pass(self, asked: _Asked, answered: Progress) -> bool:
        if asked not in self._hinted:
            return True
        before, since = self._hinted[asked]
        if replace(answered, step=before.step) != before:
            return True
        return answered != before and time.monotonic() - since >= self._patience
