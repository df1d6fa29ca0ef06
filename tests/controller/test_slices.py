"""Passes leave the event loop to others: between two of many small ones, and between the slices of large ones."""

import asyncio
from datetime import timedelta

from qtj_operator.controller.client import Key
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.runtime import Runtime
from qtj_operator.controller.slices import in_slices
from tests.controller.memory import Cluster

JOBS = 200


async def test_other_tasks_have_their_turn_between_two_passes_that_ask_nobody() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    passes, most, turn = 0, 0, 0

    async def reconcile(_: Key) -> timedelta | None:
        nonlocal passes, most, turn
        passes += 1
        turn += 1
        most = max(most, turn)
        return None

    async def other() -> None:
        nonlocal turn
        while passes < JOBS:
            turn = 0
            await asyncio.sleep(0)

    runtime = Runtime(Cluster(), reconcile, queue, None, jobs=Jobs(), metrics=Metrics())
    task = asyncio.create_task(runtime.run())
    await asyncio.sleep(0.05)
    for number in range(JOBS):
        queue.add(("lab", str(number)))
    await asyncio.wait_for(other(), timeout=20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert passes == JOBS
    assert most == 1


async def test_slices_of_several_large_jobs_never_share_a_turn() -> None:
    """Five jobs of 1,000 replicas at once kept `/healthz` waiting for 0.4 s, although no slice took 20 ms."""
    handled, most, turn = 0, 0, 0

    async def large_job() -> None:
        nonlocal handled, most, turn
        async for _ in in_slices(range(50), size=5):
            handled += 1
            turn += 1
            most = max(most, turn)

    async def other() -> None:
        nonlocal turn
        while handled < 5 * 50:
            turn = 0
            await asyncio.sleep(0)

    jobs = []
    for _ in range(5):  # each begins in a turn of its own, as passes do
        jobs.append(asyncio.create_task(large_job()))
        await asyncio.sleep(0)
        turn = 0
    await asyncio.wait_for(other(), timeout=20)
    await asyncio.gather(*jobs)

    assert most <= 2 * 5  # of a job that begins, and of one that goes on
