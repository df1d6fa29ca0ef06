"""News about a key leads to a pass at once, and during a burst to one for all that has come. Time is virtual."""

import asyncio
import weakref

from qtj_operator.controller.queue import WorkQueue
from tests.controller.drained_queue import drained
from tests.controller.virtual_time import in_virtual_time


async def rested(queue: WorkQueue[str], key: str = "a") -> None:
    """A pass over the key that ends now."""
    queue.add(key)
    queue.done(await queue.take())


@in_virtual_time
async def test_news_after_a_quiet_time_is_looked_at_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    await rested(queue)
    await asyncio.sleep(1)
    queue.add_news("a")
    queue.add_news("b")

    assert await drained(queue, until=5) == [(1, "a"), (1, "b")]


@in_virtual_time
async def test_news_in_a_burst_leads_to_few_passes_of_which_the_last_comes_after_all_news() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(51):
        asyncio.get_running_loop().call_later(number / 100, queue.add_news, "a")

    assert await drained(queue, until=5) == [(0, "a"), (0.2, "a"), (0.4, "a"), (0.6, "a")]


@in_virtual_time
async def test_news_during_a_pass_waits_for_its_end_and_then_rests() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.take()
    queue.add_news("a")
    await asyncio.sleep(3)
    queue.done(key)

    assert await drained(queue, until=5) == [(3.2, "a")]


@in_virtual_time
async def test_whoever_asks_for_a_pass_is_not_kept_waiting_by_an_earlier_pass() -> None:
    queue: WorkQueue[str] = WorkQueue()
    await rested(queue)
    queue.add("a")

    assert await drained(queue, until=5) == [(0, "a")]


@in_virtual_time
async def test_a_pass_that_failed_looks_at_all_news_when_it_is_repeated() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0)
    queue.add("a")
    key = await queue.take()
    queue.add_news("a")
    queue.retry(key, shortest=3)

    assert await drained(queue, until=9) == [(3, "a")]


@in_virtual_time
async def test_news_after_a_pass_that_failed_rests_as_it_does_after_another() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0)
    for _ in range(9):
        queue.retry("a")
    for number in range(30):
        asyncio.get_running_loop().call_later(number / 100, queue.add_news, "a")

    assert await drained(queue, until=1) == [(0.2, "a"), (0.4, "a")]


@in_virtual_time
async def test_news_does_not_shorten_the_pause_that_the_server_asked_for() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0)
    queue.retry("a", shortest=30)
    queue.add_news("a")

    assert await drained(queue, until=50) == [(30, "a")]


class _Name(str):
    """A key of which one can tell whether anybody still holds it."""

    __slots__ = ("__weakref__",)


@in_virtual_time
async def test_nothing_is_kept_of_keys_that_have_rested() -> None:
    queue: WorkQueue[str] = WorkQueue()
    keys = [_Name(f"job-{number}") for number in range(10)]
    kept = [weakref.ref(key) for key in keys]
    while keys:
        await rested(queue, keys.pop())
    await asyncio.sleep(1)
    await rested(queue, "another")

    assert [name for ref in kept if (name := ref()) is not None] == []
