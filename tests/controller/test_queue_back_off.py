"""The pauses of the work queue after errors. Time is virtual."""

from qtj_operator.controller.queue import WorkQueue
from tests.controller.drained_queue import drained, now
from tests.controller.virtual_time import in_virtual_time, run


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


@in_virtual_time
async def test_a_failed_key_returns_after_its_delay_and_not_before() -> None:
    await failing(queue := WorkQueue[str](jitter=0), 3)
    await queue.take()

    assert now() == 1.4


@in_virtual_time
async def test_success_resets_the_back_off() -> None:
    await failing(queue := WorkQueue[str](jitter=0), 5)
    queue.done(await queue.take())

    assert await failing(queue, 1) == [0.2]


@in_virtual_time
async def test_back_off_of_one_key_says_nothing_of_another() -> None:
    await failing(queue := WorkQueue[str](jitter=0), 5)
    queue.add("b")

    assert queue.retry(await queue.take()) == 0.2


@in_virtual_time
async def test_keys_that_failed_together_return_apart() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0.2)
    for key in "abcdefghij":
        queue.add(key)

    delays = [queue.retry(await queue.take()) for _ in range(10)]
    assert len(set(delays)) > 1
    assert all(0.2 <= delay <= 0.2 * 1.2 for delay in delays)


@in_virtual_time
async def test_a_key_that_failed_is_looked_at_at_once_when_something_happens() -> None:
    await failing(queue := WorkQueue[str](jitter=0), 9)
    begin = now()
    queue.add("a")
    await queue.take()

    assert (now() - begin) == 0


@in_virtual_time
async def test_what_happens_during_a_pass_that_fails_waits_for_the_back_off() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0)
    queue.add("a")
    key = await queue.take()
    queue.add("a")
    queue.retry(key)

    assert await drained(queue, until=10) == [(0.2, "a")]


@in_virtual_time
async def test_a_server_that_says_how_long_to_wait_is_heeded() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=0)

    assert [queue.retry("a", shortest=shortest) for shortest in (0, 7, 0.1, 3600)] == [0.2, 7, 0.8, 60], (
        "no longer than the longest pause"
    )
