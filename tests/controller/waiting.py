"""Waits for what the event loop brings about."""

import asyncio
from collections.abc import Callable

__all__ = ["soon"]


async def soon(holds: Callable[[], bool], what: str = "what is waited for", seconds: float = 20) -> None:
    """Waits until `holds()` is true.

    Raises:
        AssertionError: It was not in time.
    """
    for _ in range(int(seconds * 100)):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")
