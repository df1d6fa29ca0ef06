"""The work queue: each key at most once, one pass at a time. Time is virtual."""

import asyncio
from collections import Counter

import pytest

from qtj_operator.controller.queue import WorkQueue
from tests.controller.drained_queue import drained, now
from tests.controller.virtual_time import in_virtual_time, run


@in_virtual_time
async def test_a_key_that_is_added_often_is_looked_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(100):
        queue.add("a")
    assert len(queue) == 1

    assert await drained(queue) == [(0, "a")]


@in_virtual_time
async def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "cab":
        queue.add(key)
    queue.add("c")

    assert [key for _, key in await drained(queue)] == ["c", "a", "b"]


@in_virtual_time
async def test_a_namespace_with_many_keys_is_not_before_all_others() -> None:
    queue: WorkQueue[str] = WorkQueue(lambda key: key[0])
    for number in range(100):
        queue.add(f"a{number}")
    queue.add("b0")
    queue.add("b1")
    taken = [await queue.take() for _ in range(3)]
    queue.add("c0")

    assert ([*taken, *[await queue.take() for _ in range(4)]], len(queue)) == (
        ["a0", "b0", "a1", "b1", "a2", "c0", "a3"],
        96,
    )


@in_virtual_time
async def test_a_key_that_is_added_during_its_pass_is_looked_at_again_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.take()
    queue.add("a")
    queue.add("a")
    during = len(queue)
    queue.done(key)

    after, taken = len(queue), await drained(queue)
    assert (during, after) == (0, 1), "not while the pass is running"
    assert len(taken) == 1


@in_virtual_time
async def test_a_key_that_comes_due_during_its_pass_waits_for_its_end() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.take()
    queue.add_after("a", 1)
    other = asyncio.create_task(queue.take())
    await asyncio.sleep(5)
    assert not other.done()
    queue.done(key)

    assert [(now(), await other)] == [(5, "a")]


@in_virtual_time
async def test_two_workers_never_hold_the_same_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    held: set[str] = set()
    most: Counter[str] = Counter()
    passes: Counter[str] = Counter()

    async def worker() -> None:
        while True:
            key = await queue.take()
            assert key not in held
            held.add(key)
            most["held"] = max(most["held"], len(held))
            await asyncio.sleep(0.01)
            passes[key] += 1
            held.discard(key)
            queue.done(key)

    workers = [asyncio.create_task(worker()) for _ in range(8)]
    for _ in range(50):
        for key in "abcde":
            queue.add(key)
        await asyncio.sleep(0.003)
    await asyncio.sleep(1)
    for task in workers:
        task.cancel()
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert {type(result) for result in results} == {asyncio.CancelledError}

    assert most["held"] == 5, "different keys are looked at side by side"
    assert all(10 < count < 20 for count in passes.values())


@in_virtual_time
async def test_every_waiting_worker_wakes_up_when_there_is_work() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await asyncio.sleep(1)
    for key in "abc":
        queue.add(key)

    assert set(await asyncio.gather(*workers)) == {"a", "b", "c"}


@in_virtual_time
async def test_a_key_comes_back_when_it_is_due() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("late", 30)
    queue.add_after("soon", 10)
    queue.add_after("now", 0)

    assert await drained(queue, until=60) == [(0, "now"), (10, "soon"), (30, "late")]


@pytest.mark.parametrize("delays", [(10, 30), (30, 10), (10, 10), (30, 10, 20)])
@in_virtual_time
async def test_of_several_moments_the_earliest_counts_and_it_counts_once(delays: tuple[float, ...]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    for delay in delays:
        queue.add_after("a", delay)

    assert await drained(queue, until=100) == [(10, "a")]


@in_virtual_time
async def test_an_earlier_moment_is_heard_by_a_worker_that_waits_for_a_later_one() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 100)
    worker = asyncio.create_task(queue.take())
    await asyncio.sleep(1)
    queue.add_after("b", 2)

    assert (await worker, now())[::-1] == (3, "b")


@in_virtual_time
async def test_a_key_that_is_due_later_may_be_looked_at_now_as_well() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10)
    queue.add("a")

    assert await drained(queue, until=60) == [(0, "a"), (10, "a")]


def test_a_wait_for_nothing_is_an_error_of_the_test_and_not_a_hang() -> None:
    with pytest.raises(RuntimeError, match="nothing will ever happen"):
        run(WorkQueue[str]().take())


async def test_a_worker_that_is_cancelled_while_it_is_woken_ends() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("later", 60)
    worker = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # now it waits for the alarm

    queue.add_after("sooner", 30)  # wakes it
    await asyncio.sleep(0)  # what it waits for is done, and it does not know yet
    worker.cancel()

    await asyncio.wait([worker], timeout=5)
    assert worker.cancelled()
