"""Jobs whose requests hang, as behind an admission webhook that does not answer, leave workers to others."""

import asyncio

import pytest

from tests.controller.busy_operator import TIMEOUT_SECONDS, BusyOperator
from tests.controller.virtual_time import run


async def hangs(operator: BusyOperator, jobs: int) -> None:
    operator.cluster.hung.add("bad")
    for number in range(jobs):
        await operator.applies("bad", f"stuck-{number}")


@pytest.mark.parametrize("jobs", [30, 300])
def test_jobs_of_other_namespaces_wait_for_one_timeout_at_most(jobs: int) -> None:
    """The first passes over stuck jobs take all workers: nobody knows yet that they will hang."""

    async def story() -> list[float]:
        async with BusyOperator.running() as operator:
            for number in range(3):
                await operator.applies("good", f"small-{number}")
            await asyncio.sleep(5)
            await hangs(operator, jobs)
            await asyncio.sleep(1)
            first = await operator.seconds_until_suspended("good", "small-0")
            await asyncio.sleep(60)
            return [first, *[await operator.seconds_until_suspended("good", f"small-{each}") for each in (1, 2)]]

    first, *later = run(story())
    assert first < TIMEOUT_SECONDS + 2
    assert max(later) < 2


def test_a_job_beside_those_that_hang_is_not_behind_them() -> None:
    async def story() -> float:
        async with BusyOperator.running() as operator:
            await operator.applies("bad", "small")
            await asyncio.sleep(5)
            await hangs(operator, 30)
            await asyncio.sleep(60)
            return await operator.seconds_until_suspended("bad", "small")

    assert run(story()) < TIMEOUT_SECONDS


def test_jobs_that_hung_go_on_soon_after_they_are_answered() -> None:
    async def story() -> int:
        async with BusyOperator.running() as operator:
            await hangs(operator, 100)
            await asyncio.sleep(300)
            assert not operator.cluster.created
            operator.cluster.hung.clear()
            await asyncio.sleep(TIMEOUT_SECONDS + 20)
            return len(operator.cluster.created)

    assert run(story()) == 400
