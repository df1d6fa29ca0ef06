"""The end of a leader's work: before another may take its Lease, whatever hangs and whatever the clock says."""

import asyncio
from typing import Any

import pytest
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord

from qtj_operator.cluster.leader import Election
from tests.controller.virtual_time import run

LEASE_SECONDS = 15
HUNG_SECONDS = 3.9
"""Just below what a request for the Lease may take."""


class Hanging:
    """A Lease of ours that is renewed a few times; then requests take long, and no renewal succeeds.

    Attributes:
        renewed: When the last renewal was stored: others count from there.
    """

    name, namespace, identity, trouble = "qtj-operator", "lab", "ours", None

    def __init__(self, *, answers_late: bool) -> None:
        self.renewed = 0.0
        self._record = LeaderElectionRecord(self.identity, str(LEASE_SECONDS), "", "")
        self._left = 3
        self._answers_late = answers_late

    async def get(self, *_: str) -> tuple[bool, LeaderElectionRecord]:
        if not self._left:
            await asyncio.sleep(HUNG_SECONDS)
        return True, self._record

    async def update(self, _: str, __: str, record: LeaderElectionRecord) -> bool:
        if not self._left:
            await asyncio.sleep(HUNG_SECONDS)
            return False
        self._left -= 1
        self._record, self.renewed = record, asyncio.get_running_loop().time()
        if self._answers_late and not self._left:
            await asyncio.sleep(HUNG_SECONDS)
        return True


async def seconds_without_renewal(lock: Any) -> float:
    """How long after the last renewal the work ends. The clock of the library stands still here."""
    deposed = asyncio.Event()

    async def nothing() -> None:
        """The work, which waits for its end."""

    election = Election(lock, nothing, lambda _: None, deposed.set)
    candidate = asyncio.create_task(election.run())
    await deposed.wait()
    candidate.cancel()
    await asyncio.gather(candidate, return_exceptions=True)
    return asyncio.get_running_loop().time() - float(lock.renewed)


@pytest.mark.parametrize("answers_late", [False, True])
def test_work_ends_before_another_may_take_the_lease_however_long_requests_take(*, answers_late: bool) -> None:
    assert 10 <= run(seconds_without_renewal(Hanging(answers_late=answers_late))) < LEASE_SECONDS
