"""A work queue that is read until nothing comes due any more. Time is virtual."""

import asyncio

from qtj_operator.controller.queue import WorkQueue


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
