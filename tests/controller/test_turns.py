"""Many passes that need nothing but memory leave the event loop to others in between."""

import asyncio
from datetime import timedelta

from qtj_operator.controller.client import Key
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.registry import JobRegistry
from qtj_operator.controller.runtime import Runtime
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

    runtime = Runtime(Cluster(), reconcile, queue, None, jobs=JobRegistry(), metrics=Metrics())
    task = asyncio.create_task(runtime.run())
    await asyncio.sleep(0.05)
    for number in range(JOBS):
        queue.add(("lab", str(number)))
    await asyncio.wait_for(other(), timeout=20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert passes == JOBS
    assert most == 1
