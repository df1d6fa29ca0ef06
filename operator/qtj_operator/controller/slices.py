"""Long work in short steps, so that probes, watches and other jobs have their turn in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

__all__ = ["in_slices"]

T = TypeVar("T")

_SLICE = 100
"""Replicas that are handled at a time: some milliseconds."""


async def in_slices(items: Iterable[T], size: int = _SLICE) -> AsyncIterator[T]:
    """Yields the items; the event loop runs after each slice of this size."""
    for number, item in enumerate(items, start=1):
        yield item
        if number % size == 0:
            await asyncio.sleep(0)
