"""Asks the leading replicas of running jobs how far they are, and evaluators what they have measured."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from qtj_contract import Heartbeat, Progress
from qtj_operator.api.job import EVALUATOR, ReplicaId
from qtj_operator.controller.client import Key
from qtj_operator.core.heard import Heard

__all__ = ["Contact", "NoProgress", "Poller"]

_PARALLEL = 32

_FOLLOWERS = 8
"""How many followers of a job are asked in a round: each request costs this process a millisecond. In a gang of a
thousand, it takes ten minutes until each was asked."""

_Asked = tuple[Key, ReplicaId]


class NoProgress:
    """A `qtj_operator.controller.client.ProgressSource` that asks nobody."""

    def ask(self, key: Key, replicas: Mapping[ReplicaId, str], followers: Mapping[ReplicaId, str]) -> None:
        """Does nothing."""

    def latest(self, _key: Key, _replica: ReplicaId) -> None:
        """Returns None."""
        return

    def heard(self, _key: Key, _replica: ReplicaId) -> None:
        """Returns None."""
        return


class Contact:
    """The answers of one replica that is asked again and again, and its silence.

    A silence counts from the first request without an answer, and not from the last answer: replicas take turns to be
    asked, and the programs of others, which hold every request for two seconds, may make a turn take minutes.

    Args:
        now: When it is asked first, in seconds of any clock that only goes forward.
    """

    def __init__(self, now: float) -> None:
        self._since = now
        self._beat: Heartbeat | None = None
        self._misses = False
        self._holds = False

    def answered(self, answer: str, now: float) -> None:
        """It has answered."""
        self._beat = Heartbeat.parse(answer)
        self._since, self._misses, self._holds = now, False, False

    def missed(self, asked: float, *, holds: bool) -> None:
        """It has not answered.

        Args:
            asked: When it was asked.
            holds: Whether it has taken the request. Once it has, it is not taken for one that is out of reach: the
                requests that wait for a stopped process fill its queue, and then others are refused.
        """
        if not self._misses:
            self._since = asked
        self._misses, self._holds = True, self._holds or holds

    def heard(self, now: float) -> Heard:
        """Returns what is known now."""
        return Heard(self._beat, now - self._since if self._misses else 0.0, self._holds)


class Poller(ABC):
    """Polls progress endpoints at a bounded rate; a `qtj_operator.controller.client.ProgressSource`.

    A program without the endpoint, or out of reach, simply has no progress.

    Args:
        hint: Called with the key of every job whose progress has changed.
        period: Seconds from the end of one round to the next.
        patience: Seconds for which a change of the step alone is kept back: what else there is changes with an epoch
            or a checkpoint.
        pause: Seconds until a follower is asked again, if it is its turn.

    Attributes:
        period: See above.
        patience: See above.
    """

    def __init__(
        self, hint: Callable[[Key], None], period: float, *, patience: float = 0.0, pause: float = 0.0
    ) -> None:
        self._hint = hint
        self.period = period
        self.patience = patience
        self._pause = pause
        self._hinted: dict[_Asked, tuple[Progress, float]] = {}
        self._asked: dict[Key, Mapping[ReplicaId, str]] = {}
        self._followers: dict[Key, Mapping[ReplicaId, str]] = {}
        self._last_asked: dict[_Asked, float] = {}
        self._latest: dict[_Asked, Progress] = {}
        self._contacts: dict[_Asked, Contact] = {}

    def ask(self, key: Key, replicas: Mapping[ReplicaId, str], followers: Mapping[ReplicaId, str]) -> None:
        """See `ProgressSource.ask`."""
        before = self._asked.pop(key, {}).keys() | self._followers.pop(key, {}).keys()
        for replica in before - replicas.keys():
            self._latest.pop((key, replica), None)
            self._hinted.pop((key, replica), None)
        for replica in before - replicas.keys() - followers.keys():
            self._contacts.pop((key, replica), None)
            self._last_asked.pop((key, replica), None)
        if replicas:
            self._asked[key] = replicas
        if followers:
            self._followers[key] = followers

    def latest(self, key: Key, replica: ReplicaId) -> Progress | None:
        """See `ProgressSource.latest`."""
        return self._latest.get((key, replica))

    def heard(self, key: Key, replica: ReplicaId) -> Heard | None:
        """See `ProgressSource.heard`."""
        contact = self._contacts.get((key, replica))
        return contact.heard(time.monotonic()) if contact else None

    async def run(self) -> None:
        """Polls until cancelled."""
        limit = asyncio.Semaphore(_PARALLEL)
        while True:
            asked = [(key, *each) for key, replicas in self._asked.items() for each in replicas.items()]
            turns = [(key, *each) for key in self._followers for each in self.turn(key, time.monotonic())]
            await asyncio.gather(*(self._ask(limit, *each) for each in (*asked, *turns)))
            await asyncio.sleep(self.period)

    def turn(self, key: Key, now: float) -> list[tuple[ReplicaId, str]]:
        """Returns the followers of a job that are asked in this round: those that were not asked for the longest.

        None before the leader has answered: where programs have no endpoint, or are out of reach, each request takes
        two seconds, in which others are not asked.
        """
        if not any((key, each) in self._latest for each in self._asked.get(key, ())):
            return []
        last = {replica: self._last_asked.get((key, replica), -inf) for replica in self._followers[key]}
        due = sorted((each for each, when in last.items() if now - when >= self._pause), key=last.__getitem__)
        turn = due[:_FOLLOWERS]
        self._last_asked.update({(key, replica): now for replica in turn})
        return [(replica, self._followers[key][replica]) for replica in turn]

    def is_leader(self, key: Key, replica: ReplicaId) -> bool:
        """Tells whether a replica is asked all the time, and is no evaluator."""
        return replica != EVALUATOR and replica in self._asked.get(key, {})

    @abstractmethod
    async def fetch(self, key: Key, replica: ReplicaId, address: str) -> bytes | None:
        """Returns what a replica of a job answers, or None when it cannot be reached.

        Raises:
            TimeoutError: If it takes the request, and does not answer in time.
        """

    async def _ask(self, limit: asyncio.Semaphore, key: Key, replica: ReplicaId, address: str) -> None:
        async with limit:
            began, answer, holds = time.monotonic(), None, False
            try:
                answer = await self.fetch(key, replica, address)
            except TimeoutError:
                holds = True
        is_asked = replica in self._asked.get(key, {})
        if not is_asked and replica not in self._followers.get(key, {}):
            return
        contact = self._contacts.setdefault((key, replica), Contact(began))
        if answer is None:
            contact.missed(began, holds=holds)
            return
        text = answer.decode(errors="replace")
        contact.answered(text, time.monotonic())
        answered = Progress.parse(text) if is_asked else None
        if answered is None:
            return
        asked = key, replica
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
        return answered != before and time.monotonic() - since >= self.patience
