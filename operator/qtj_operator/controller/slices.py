"""Long work in short steps, so that probes, watches and other jobs have their turn in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar
from weakref import WeakKeyDictionary

__all__ = ["in_slices"]

T = TypeVar("T")

_SLICE = 100
"""Replicas that are handled at a time: some milliseconds."""

_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Who may take the next slice, first come first served. Belongs to the event loop, which all jobs share."""


async def in_slices(items: Iterable[T], size: int = _SLICE) -> AsyncIterator[T]:
    """Yields the items in slices of this size; others run after each.

    All jobs share one line, so that no two of them go on in one turn of the event loop. A probe needs several turns: it
    waits for as many slices, however many large jobs there are.
    """
    line = _lines.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    for number, item in enumerate(items, start=1):
        yield item
        if number % size == 0:
            async with line:
                await asyncio.sleep(0)
