"""Jobs whose requests take seconds, and succeed: they share requests, and come to their end."""

import asyncio

import pytest

from qtj_operator.controller.client import Object, Resource
from tests.controller import busy_operator
from tests.controller.busy_operator import (
    EVERY_HANG,
    IGNORED,
    NO_ANSWER,
    REFUSED,
    BusyOperator,
    Hang,
    SlowCluster,
    gang,
)
from tests.controller.virtual_time import in_virtual_time, run


@in_virtual_time
async def test_a_job_waits_for_a_turn_beside_large_ones_of_its_namespace() -> None:
    async with BusyOperator.running() as operator:
        operator.cluster.hung["slow"] = IGNORED
        await operator.applies("slow", "small")
        await asyncio.sleep(60)
        await operator.applies_many("slow", "gang", 20, **gang(300))
        await asyncio.sleep(10)
        assert await operator.seconds_until_suspended("slow", "small") < 4 * IGNORED.seconds


@pytest.mark.parametrize(("teams", "jobs"), [pytest.param(4, 100, marks=pytest.mark.slow), (16, 20)])
@in_virtual_time
async def test_a_late_job_does_not_wait_for_all_jobs_of_other_late_namespaces(teams: int, jobs: int) -> None:
    async with BusyOperator.running() as operator:
        operator.cluster.hung["slow"] = IGNORED
        await operator.applies("slow", "small")
        await asyncio.sleep(30)
        for team in range(teams):
            operator.cluster.hung[f"bad-{team}"] = NO_ANSWER
            await operator.applies_many(f"bad-{team}", "stuck", jobs)
        await asyncio.sleep(120)
        assert await operator.seconds_until_suspended("slow", "small") < 1


@pytest.mark.slow
@in_virtual_time
async def test_all_gangs_of_a_slow_namespace_grow() -> None:
    async with BusyOperator.running() as operator:
        operator.cluster.hung["slow"] = IGNORED
        await operator.applies_many("slow", "gang", 20, **gang(100))
        await asyncio.sleep(300)
        created = sorted(operator.cluster.created_of("slow", f"gang-{number}") for number in range(20))
        assert created[0] > created[-1] / 3


@pytest.mark.slow
@pytest.mark.parametrize("namespaces", [1, 20])
@in_virtual_time
async def test_where_every_answer_is_slow_large_jobs_start_in_minutes(namespaces: int) -> None:
    """4,000 children at 3 s each: 140 requests at a time need 86 s."""

    async with BusyOperator.running() as operator:
        for number in range(20):
            operator.cluster.hung[f"slow-{number % namespaces}"] = IGNORED
            await operator.applies(f"slow-{number % namespaces}", f"gang-{number}", **gang(100))
        assert await busy_operator.seconds_until(lambda: len(operator.cluster.created) >= 4000) < (
            300 if namespaces == 1 else 120
        )


@pytest.mark.parametrize("hang", EVERY_HANG[:2])
def test_jobs_that_hang_in_another_namespace_end_no_pass_that_could_not_make_room_for_them(hang: Hang) -> None:
    async def story(stuck: int) -> float:
        async with BusyOperator.running() as operator:
            operator.cluster.hung["bad"] = hang
            await operator.applies_many("bad", "stuck", stuck)
            await asyncio.sleep(60)
            operator.cluster.hung["slow"] = IGNORED
            await operator.applies("slow", "first")
            await asyncio.sleep(20)
            await operator.applies("slow", "gang", **gang(100))
            return await busy_operator.seconds_until(lambda: operator.cluster.created_of("slow", "gang") == 200)

    assert run(story(30)) < 1.1 * run(story(0))


@pytest.mark.parametrize("hang", EVERY_HANG)
@in_virtual_time
async def test_deletions_that_hang_leave_requests_to_other_namespaces(hang: Hang) -> None:
    """They do not begin one by one, as creations do."""

    async with BusyOperator.running() as operator:
        await operator.applies_many("bad", "gang", 8, **gang(100))
        await operator.applies_many("good", "small", 4)
        await asyncio.sleep(60)
        operator.cluster.stuck["bad"] = hang
        for number in range(8):
            operator.edits("bad", f"gang-{number}", suspend=True)
        await asyncio.sleep(1)
        assert max(await operator.seconds_until_each_is_suspended("good", 4, pause=30)) < 1


@in_virtual_time
async def test_creations_that_take_long_leave_requests_to_other_namespaces() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("good", "small")
        operator.cluster.hung["bad"] = IGNORED
        await operator.applies_many("bad", "gang", 12, **gang(300))
        await asyncio.sleep(60)
        await operator.applies("good", "new")
        assert (
            max(
                [
                    await operator.seconds_until_it_has_pods("good", "new"),
                    await operator.seconds_until_suspended("good", "small"),
                ]
            )
            < 1
        )


@pytest.mark.slow
@in_virtual_time
async def test_events_that_hang_leave_requests_to_other_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook for all resources hangs for Events too."""

    class HangsForEvents(SlowCluster):
        async def create(self, resource: Resource, manifest: Object) -> Object:
            if resource is Resource.EVENTS and manifest["metadata"]["namespace"] == "bad":
                await REFUSED.ends()
            return await super().create(resource, manifest)

    monkeypatch.setattr(busy_operator, "SlowCluster", HangsForEvents)
    async with BusyOperator.running() as operator:
        await operator.applies_many("good", "small", 2)
        await operator.applies_many("bad", "job", 100)
        await asyncio.sleep(300)
        for number in range(100):
            operator.edits("bad", f"job-{number}", suspend=True)
        await asyncio.sleep(1)
        first, second = [await operator.seconds_until_suspended("good", f"small-{number}") for number in range(2)]
        assert first < REFUSED.seconds + 1
        assert second < 1
