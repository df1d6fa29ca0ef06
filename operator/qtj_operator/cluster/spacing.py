"""Turns that are at least some seconds apart, for requests that another library would repeat without a pause."""

import asyncio
import math

__all__ = ["Spacing"]


class Spacing:
    """Turns that follow each other.

    Args:
        seconds: From the beginning of a turn to that of the next, at least.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._latest = -math.inf

    async def next(self) -> bool:
        """Waits for the next turn; returns whether it had to wait."""
        now = asyncio.get_running_loop().time()
        begins = max(now, self._latest + self._seconds)
        self._latest = begins
        if begins > now:
            await asyncio.sleep(begins - now)
        return begins > now
