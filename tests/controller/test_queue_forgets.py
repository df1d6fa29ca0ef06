"""The work queue keeps nothing of keys that wait no more. Time is virtual."""

import weakref

from qtj_operator.controller.queue import WorkQueue
from tests.controller.drained_queue import drained
from tests.controller.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_key_that_waits_no_more_is_not_handed_out_when_its_time_comes() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("gone", 5)
    queue.add_after("there", 6)
    queue.wait_no_more("gone")

    assert await drained(queue, until=10) == [(6, "there")]


@in_virtual_time
async def test_a_key_that_waits_no_more_may_wait_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 5)
    queue.wait_no_more("a")
    queue.add_after("a", 7)
    queue.wait_no_more("b")

    assert await drained(queue, until=10) == [(7, "a")]


class _Name(str):
    """A key of which one can tell whether anybody still holds it."""

    __slots__ = ("__weakref__",)


@in_virtual_time
async def test_nothing_is_kept_of_keys_that_wait_no_more() -> None:
    queue: WorkQueue[str] = WorkQueue()
    keys = [_Name(f"job-{number}") for number in range(10)]
    kept = [weakref.ref(key) for key in keys]
    for key in keys:
        queue.add_after(key, 7 * 24 * 3600)
    while keys:
        queue.wait_no_more(keys.pop())
    del key

    assert [name for ref in kept if (name := ref()) is not None] == []


@in_virtual_time
async def test_a_key_that_is_made_due_earlier_again_and_again_takes_no_more_room() -> None:
    queue: WorkQueue[str] = WorkQueue()
    marks = [_Name("a") for _ in range(200)]
    kept = [weakref.ref(mark) for mark in marks]
    while marks:
        queue.add_after(marks.pop(), 7 * 24 * 3600 - (200 - len(marks)))

    assert sum(ref() is not None for ref in kept) < 5
