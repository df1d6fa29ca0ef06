"""What one large job costs the small ones that are submitted just after it."""

import asyncio
import statistics
import time
from dataclasses import dataclass

from bench.scale.api import Api, connected, watched
from bench.scale.control_plane import ADMIN, ControlPlane
from bench.scale.measure import LIMIT, empty
from bench.scale.process import started
from bench.scale.subjects import Operator, is_running


@dataclass
class Fairness:
    """Seconds from the creation of a small job until it is reported as running.

    Attributes:
        subject: Who was measured.
        alone: The median with nothing else to do, and the longest.
        beside: The same when a large job has been created just before.
    """

    subject: str
    alone: tuple[float, float]
    beside: tuple[float, float]


async def fairness(plane: ControlPlane, subject: Operator, large: int, small: int) -> Fairness:
    """Measures so many small jobs alone, then behind one of so many replicas."""
    async with connected(plane.url, ADMIN) as api, started(plane, subject, looked_at=False):
        alone = await _small(api, subject, small)
        await api.create(subject.api, subject.plural, subject.job("large", large))
        beside = await _small(api, subject, small)
    return Fairness(subject.name, alone, beside)


async def _small(api: Api, subject: Operator, count: int) -> tuple[float, float]:
    sent: dict[str, float] = {}
    async with watched(api, subject.api, subject.plural, is_running) as running, asyncio.timeout(LIMIT):
        for index in range(count):
            sent[f"small-{index}"] = time.monotonic()
            await api.create(subject.api, subject.plural, subject.job(f"small-{index}", 1))
        await running.include(sent)
        took = sorted(running.at(name) - begin for name, begin in sent.items())
        await api.delete_all(subject.api, subject.plural)
        await empty(api)
    return statistics.median(took), took[-1]
