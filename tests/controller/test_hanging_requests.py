"""Jobs whose requests hang, as behind an admission webhook that does not answer, leave requests to others.

Whether such a request fails or succeeds in the end depends on the timeout and the failurePolicy of the webhook.
"""

import asyncio

import pytest

from tests.controller.busy_operator import EVERY_HANG, IGNORED, NO_ANSWER, BusyOperator, Hang
from tests.controller.virtual_time import in_virtual_time

LONGEST_PAUSE_SECONDS = 60
"""After a refusal."""


async def hangs(operator: BusyOperator, jobs: int, hang: Hang = NO_ANSWER) -> None:
    operator.cluster.hung["bad"] = hang
    await operator.applies_many("bad", "stuck", jobs)


@pytest.mark.parametrize("hang", EVERY_HANG)
@in_virtual_time
async def test_jobs_of_other_namespaces_wait_for_one_timeout_at_most(hang: Hang) -> None:
    async with BusyOperator.running() as operator:
        await operator.applies_many("good", "small", 5)
        await asyncio.sleep(5)
        await hangs(operator, 100, hang)
        await asyncio.sleep(1)
        first, *later = await operator.seconds_until_each_is_suspended("good", 5, pause=60)
        assert first < hang.seconds + 2
        assert max(later) < 2


@pytest.mark.parametrize("hang", EVERY_HANG)
@in_virtual_time
async def test_a_job_beside_those_that_hang_is_not_behind_them(hang: Hang) -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("bad", "small")
        await asyncio.sleep(5)
        await hangs(operator, 30, hang)
        await asyncio.sleep(60)
        assert await operator.seconds_until_suspended("bad", "small") < hang.seconds


@pytest.mark.parametrize("hang", EVERY_HANG)
@in_virtual_time
async def test_jobs_that_hung_go_on_soon_after_they_are_answered(hang: Hang) -> None:
    async with BusyOperator.running() as operator:
        await hangs(operator, 100, hang)
        await asyncio.sleep(300)
        assert not operator.cluster.created or hang is IGNORED
        operator.cluster.hung.clear()
        await asyncio.sleep(LONGEST_PAUSE_SECONDS + 20)
        assert len(operator.cluster.created) == 400


@pytest.mark.parametrize("hang", EVERY_HANG)
@in_virtual_time
async def test_a_sound_job_with_one_late_answer_does_not_wait_behind_those_that_hang(hang: Hang) -> None:
    async with BusyOperator.running() as operator:
        for team in range(3):
            operator.cluster.hung[f"bad-{team}"] = hang
            await operator.applies_many(f"bad-{team}", "stuck", 40)
        await asyncio.sleep(60)
        operator.cluster.hung["good"] = IGNORED
        await operator.applies("good", "small")
        await asyncio.sleep(IGNORED.seconds + 1)
        del operator.cluster.hung["good"]
        await asyncio.sleep(30)
        assert await operator.seconds_until_suspended("good", "small") < 2


@in_virtual_time
async def test_the_operator_ends_at_once_while_requests_hang() -> None:
    """Each pass is a task of its own, and none of them waits for its answer."""

    loop = asyncio.get_running_loop()
    async with BusyOperator.running() as operator:
        await hangs(operator, 100)
        await asyncio.sleep(5)
        begun = loop.time()

    assert (loop.time() - begun) == 0
