"""Namespaces that hang, very many of them or no more, and jobs of others."""

import asyncio

import pytest

from tests.controller import busy_operator
from tests.controller.busy_operator import NO_ANSWER, BusyOperator, Hang, gang
from tests.controller.virtual_time import in_virtual_time


async def hang(operator: BusyOperator, teams: int, jobs: int) -> None:
    for team in range(teams):
        operator.cluster.hung[f"bad-{team}"] = NO_ANSWER
        await operator.applies_many(f"bad-{team}", "stuck", jobs)


@in_virtual_time
async def test_however_many_namespaces_begin_to_hang_others_wait_for_one_timeout() -> None:
    """It was one for each of them."""

    async with BusyOperator.running() as operator:
        await operator.applies("good", "small")
        await asyncio.sleep(5)
        await hang(operator, 15, 16)
        await asyncio.sleep(1)
        assert await operator.seconds_until_suspended("good", "small") < NO_ANSWER.seconds + 2


@pytest.mark.slow
@in_virtual_time
async def test_what_hangs_in_many_namespaces_for_long_keeps_nobody_waiting() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies_many("good", "small", 4)
        await asyncio.sleep(5)
        await hang(operator, 100, 1)
        await asyncio.sleep(400)
        assert max(await operator.seconds_until_each_is_suspended("good", 4, pause=60)) < 1


@pytest.mark.slow
@in_virtual_time
async def test_a_namespace_that_hangs_no_more_does_not_wait_for_those_that_still_do() -> None:
    """Each of its jobs waited for a round of their timeouts: all 100 of them for 45 minutes, and a new one for 20."""

    async with BusyOperator.running() as operator:
        operator.cluster.hung["mine"] = NO_ANSWER
        await operator.applies_many("mine", "old", 60)
        await asyncio.sleep(600)
        await hang(operator, 20, 5)
        await asyncio.sleep(120)
        del operator.cluster.hung["mine"]
        await operator.applies("mine", "new")
        new = await operator.seconds_until_it_has_pods("mine", "new")
        all_of_them = await busy_operator.seconds_until(lambda: len(operator.cluster.created) >= 61 * 4)
        assert new < 60
        assert all_of_them < 120


@in_virtual_time
async def test_answers_that_are_slow_and_not_late_keep_only_their_namespace_waiting() -> None:
    """None of them counts as late. A job of another namespace waited for 81 s, and with 1,000 jobs for 888 s."""

    async with BusyOperator.running() as operator:
        await operator.applies("good", "small")
        await asyncio.sleep(5)
        operator.cluster.hung["bad"] = Hang(2.4)
        await operator.applies_many("bad", "gang", 100, **gang(4))
        await asyncio.sleep(5)
        assert await operator.seconds_until_suspended("good", "small") < 12
