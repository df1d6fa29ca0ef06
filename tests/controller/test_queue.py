"""The work queue: each key at most once, one pass at a time. Time is virtual."""

import asyncio
from collections import Counter

import pytest

from qtj_operator.controller.queue import WorkQueue
from tests.controller.drained_queue import drained, now
from tests.controller.virtual_time import run


def test_a_key_that_is_added_often_is_looked_at_once() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        for _ in range(100):
            queue.add("a")
        assert len(queue) == 1
        return await drained(queue)

    assert run(story()) == [(0, "a")]


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        for key in "cab":
            queue.add(key)
        queue.add("c")
        return await drained(queue)

    assert [key for _, key in run(story())] == ["c", "a", "b"]


def test_a_namespace_with_many_keys_is_not_before_all_others() -> None:
    async def story() -> tuple[list[str], int]:
        queue: WorkQueue[str] = WorkQueue(lambda key: key[0])
        for number in range(100):
            queue.add(f"a{number}")
        queue.add("b0")
        queue.add("b1")
        taken = [await queue.take() for _ in range(3)]
        queue.add("c0")
        return [*taken, *[await queue.take() for _ in range(4)]], len(queue)

    assert run(story()) == (["a0", "b0", "a1", "b1", "a2", "c0", "a3"], 96)


def test_a_key_that_is_added_during_its_pass_is_looked_at_again_afterwards() -> None:
    async def story() -> tuple[int, int, list[tuple[float, str]]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        key = await queue.take()
        queue.add("a")
        queue.add("a")
        during = len(queue)
        queue.done(key)
        return during, len(queue), await drained(queue)

    during, after, taken = run(story())
    assert (during, after) == (0, 1), "not while the pass is running"
    assert len(taken) == 1


def test_a_key_that_comes_due_during_its_pass_waits_for_its_end() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        key = await queue.take()
        queue.add_after("a", 1)
        other = asyncio.create_task(queue.take())
        await asyncio.sleep(5)
        assert not other.done()
        queue.done(key)
        return [(now(), await other)]

    assert run(story()) == [(5, "a")]


def test_two_workers_never_hold_the_same_key() -> None:
    async def story() -> tuple[Counter[str], Counter[str]]:
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
        return passes, most

    passes, most = run(story())
    assert most["held"] == 5, "different keys are looked at side by side"
    assert all(10 < count < 20 for count in passes.values())


def test_every_waiting_worker_wakes_up_when_there_is_work() -> None:
    async def story() -> set[str]:
        queue: WorkQueue[str] = WorkQueue()
        workers = [asyncio.create_task(queue.take()) for _ in range(3)]
        await asyncio.sleep(1)
        for key in "abc":
            queue.add(key)
        return set(await asyncio.gather(*workers))

    assert run(story()) == {"a", "b", "c"}


def test_a_key_comes_back_when_it_is_due() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("late", 30)
        queue.add_after("soon", 10)
        queue.add_after("now", 0)
        return await drained(queue, until=60)

    assert run(story()) == [(0, "now"), (10, "soon"), (30, "late")]


@pytest.mark.parametrize("delays", [(10, 30), (30, 10), (10, 10), (30, 10, 20)])
def test_of_several_moments_the_earliest_counts_and_it_counts_once(delays: tuple[float, ...]) -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        for delay in delays:
            queue.add_after("a", delay)
        return await drained(queue, until=100)

    assert run(story()) == [(10, "a")]


def test_an_earlier_moment_is_heard_by_a_worker_that_waits_for_a_later_one() -> None:
    async def story() -> tuple[float, str]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 100)
        worker = asyncio.create_task(queue.take())
        await asyncio.sleep(1)
        queue.add_after("b", 2)
        return (await worker, now())[::-1]

    assert run(story()) == (3, "b")


def test_a_key_that_is_due_later_may_be_looked_at_now_as_well() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 10)
        queue.add("a")
        return await drained(queue, until=60)

    assert run(story()) == [(0, "a"), (10, "a")]


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
