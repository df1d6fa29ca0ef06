"""Who has a place in the share of late namespaces next, and who keeps it."""

import asyncio
from contextlib import ExitStack

from qtj_operator.controller.bulkhead import Bulkhead
from qtj_operator.controller.client import Key
from tests.controller.test_bulkhead import LATE, jobs_of, passes, workers_of
from tests.controller.virtual_time import run


def test_quick_passes_of_a_namespace_follow_each_other_in_its_place_until_their_turn_is_over() -> None:
    async def story() -> list[list[Key]]:
        bulkhead = Bulkhead()
        mine, others = jobs_of("mine", 4), [(f"team-{number}", "late") for number in range(12)]
        for key in [*mine, *others]:
            passes(bulkhead, key, LATE)
        called = []
        with ExitStack() as held:
            for key in others[:-1]:
                held.enter_context(bulkhead.admitted(key))
            with bulkhead.admitted(mine[0]):
                for key in [others[-1], *mine[1:]]:
                    held.enter_context(bulkhead.admitted(key))
                await asyncio.sleep(4)
            called.append(bulkhead.call())
            with bulkhead.admitted(mine[1]):
                await asyncio.sleep(7.9)
            called.append(bulkhead.call())
            with bulkhead.admitted(mine[2]):
                await asyncio.sleep(0.1)
            called.append(bulkhead.call())
        return called

    assert run(story()) == [[("mine", "job-1")], [("mine", "job-2")], [("team-11", "late")]]


def test_a_late_job_that_waits_for_a_worker_is_not_forgotten() -> None:
    async def story() -> list[Key]:
        late = jobs_of("bad")
        bulkhead = Bulkhead(late.__contains__)
        for key in late:
            passes(bulkhead, key, LATE)
        await asyncio.sleep(300)
        return workers_of(bulkhead, *late)

    assert len(run(story())) == 6
