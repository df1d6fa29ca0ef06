"""Passes that create many children let other jobs have their turn, and end where the job has changed."""

import asyncio

import pytest

from qtj_operator.controller.act import PARALLEL
from qtj_operator.controller.client import Resource
from tests.controller.busy_operator import WRITES_PER_SECOND, BusyOperator, gang
from tests.controller.virtual_time import in_virtual_time

TURN_SECONDS = 12.0
JOBS = 16


@in_virtual_time
async def test_large_jobs_that_start_together_do_not_keep_another_one_waiting() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("good", "small")
        await asyncio.sleep(5)
        await operator.applies_many("large", "gang", 2 * JOBS, **gang(300))
        await asyncio.sleep(5)
        assert await operator.seconds_until_suspended("good", "small") < TURN_SECONDS


@pytest.mark.parametrize("pause", [0.1, pytest.param(5, marks=pytest.mark.slow)])
@in_virtual_time
async def test_a_job_that_starts_beside_large_ones_and_is_edited_then_waits_for_a_turn_only(pause: float) -> None:
    """After a pass, a job rests for a moment: its next one is due at a time, and not at once."""

    async with BusyOperator.running() as operator:
        await operator.applies_many("large", "gang", JOBS, **gang(300))
        await asyncio.sleep(3)
        await operator.applies("good", "small")
        started = await operator.seconds_until_it_has_pods("good", "small")
        await asyncio.sleep(pause)
        assert max([started, await operator.seconds_until_suspended("good", "small")]) < TURN_SECONDS


@in_virtual_time
async def test_large_jobs_that_take_turns_all_get_their_children() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies_many("large", "gang", 2 * JOBS, **gang(40))
        await asyncio.sleep(3 * JOBS * 2 * 80 / WRITES_PER_SECOND)
        pods = operator.cluster.store.select(Resource.PODS, "large", {})
        assert (len(list(pods)), len(operator.cluster.created)) == (2 * JOBS * 40, 2 * JOBS * 80), (
            "and none is created twice"
        )


@pytest.mark.parametrize("change", ["deleted", "replaced", "suspended"])
@in_virtual_time
async def test_a_job_that_changes_while_its_children_are_created_gets_no_more(change: str) -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("large", "gang", **gang(1000))
        await asyncio.sleep(2)
        if change == "suspended":
            operator.edits("large", "gang", suspend=True)
        else:
            operator.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, "large", "gang")
        before = len(operator.cluster.created)
        if change == "replaced":
            await operator.applies("large", "gang", suspend=True, **gang(1000))
        await asyncio.sleep(60)
        assert len(operator.cluster.created[before:]) <= PARALLEL


@in_virtual_time
async def test_a_job_alone_gets_all_its_children_in_one_pass() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("large", "gang", **gang(100))
        await asyncio.sleep(60)
        assert len(operator.cluster.created) == 200


@in_virtual_time
async def test_jobs_that_find_a_free_worker_do_not_end_the_pass_of_another_one() -> None:
    async with BusyOperator.running() as operator:
        await operator.applies("large", "gang", **gang(500))
        for number in range(20):
            await operator.applies("good", f"small-{number}")
            await asyncio.sleep(0.5)
        created, passes = len(operator.cluster.created), operator.passes["large", "gang"]
        assert created > 300
        assert passes == 2, "one records that the job starts, and one creates"
