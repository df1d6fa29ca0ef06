"""The work queue: each key at most once, one pass at a time, with back-off after errors. Time is virtual."""

import asyncio
import weakref
from collections import Counter

import pytest

from qtj_operator.controller.queue import WorkQueue
from tests.controller.virtual_time import run


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)


async def drained(queue: WorkQueue[str], until: float = 0) -> list[tuple[float, str]]:
    """The keys that come due by then, each with the moment; every pass is short and goes well."""
    taken = []
    try:
        async with asyncio.timeout(until + 0.001):
            while True:
                key = await queue.take()
                taken.append((now(), key))
                queue.done(key)
    except TimeoutError:
        return taken


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


async def failing(queue: WorkQueue[str], times: int) -> list[float]:
    """The delays after as many failed passes over one key."""
    delays = []
    queue.add("a")
    for _ in range(times):
        key = await queue.take()
        delays.append(queue.retry(key))
    return delays


def test_back_off_doubles_and_ends_at_a_minute() -> None:
    assert run(failing(WorkQueue(jitter=0), 12)) == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60, 60, 60]


def test_a_failed_key_returns_after_its_delay_and_not_before() -> None:
    async def story() -> float:
        await failing(queue := WorkQueue[str](jitter=0), 3)
        await queue.take()
        return now()

    assert run(story()) == 1.4


def test_success_resets_the_back_off() -> None:
    async def story() -> list[float]:
        await failing(queue := WorkQueue[str](jitter=0), 5)
        queue.done(await queue.take())
        return await failing(queue, 1)

    assert run(story()) == [0.2]


def test_back_off_of_one_key_says_nothing_of_another() -> None:
    async def story() -> float:
        await failing(queue := WorkQueue[str](jitter=0), 5)
        queue.add("b")
        return queue.retry(await queue.take())

    assert run(story()) == 0.2


def test_keys_that_failed_together_return_apart() -> None:
    async def story() -> list[float]:
        queue: WorkQueue[str] = WorkQueue(jitter=0.2)
        for key in "abcdefghij":
            queue.add(key)
        return [queue.retry(await queue.take()) for _ in range(10)]

    delays = run(story())
    assert len(set(delays)) > 1
    assert all(0.2 <= delay <= 0.2 * 1.2 for delay in delays)


def test_a_key_that_failed_is_looked_at_at_once_when_something_happens() -> None:
    async def story() -> float:
        await failing(queue := WorkQueue[str](jitter=0), 9)
        begin = now()
        queue.add("a")
        await queue.take()
        return now() - begin

    assert run(story()) == 0


def test_what_happens_during_a_pass_that_fails_waits_for_the_back_off() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue(jitter=0)
        queue.add("a")
        key = await queue.take()
        queue.add("a")
        queue.retry(key)
        return await drained(queue, until=10)

    assert run(story()) == [(0.2, "a")]


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


def test_a_key_that_waits_no_more_is_not_handed_out_when_its_time_comes() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("gone", 5)
        queue.add_after("there", 6)
        queue.wait_no_more("gone")
        return await drained(queue, until=10)

    assert run(story()) == [(6, "there")]


def test_a_key_that_waits_no_more_may_wait_again() -> None:
    async def story() -> list[tuple[float, str]]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 5)
        queue.wait_no_more("a")
        queue.add_after("a", 7)
        queue.wait_no_more("b")
        return await drained(queue, until=10)

    assert run(story()) == [(7, "a")]


class _Name(str):
    """A key of which one can tell whether anybody still holds it."""

    __slots__ = ("__weakref__",)


def test_nothing_is_kept_of_keys_that_wait_no_more() -> None:
    async def story() -> list[object]:
        queue: WorkQueue[str] = WorkQueue()
        keys = [_Name(f"job-{number}") for number in range(10)]
        kept = [weakref.ref(key) for key in keys]
        for key in keys:
            queue.add_after(key, 7 * 24 * 3600)
        while keys:
            queue.wait_no_more(keys.pop())
        del key
        return [name for ref in kept if (name := ref()) is not None]

    assert run(story()) == []


def test_a_key_that_is_made_due_earlier_again_and_again_takes_no_more_room() -> None:
    async def story() -> int:
        queue: WorkQueue[str] = WorkQueue()
        marks = [_Name("a") for _ in range(200)]
        kept = [weakref.ref(mark) for mark in marks]
        while marks:
            queue.add_after(marks.pop(), 7 * 24 * 3600 - (200 - len(marks)))
        return sum(ref() is not None for ref in kept)

    assert run(story()) < 5


def test_a_server_that_says_how_long_to_wait_is_heeded() -> None:
    async def story() -> list[float]:
        queue: WorkQueue[str] = WorkQueue(jitter=0)
        return [queue.retry("a", shortest=shortest) for shortest in (0, 7, 0.1, 3600)]

    assert run(story()) == [0.2, 7, 0.8, 60], "no longer than the longest pause"
