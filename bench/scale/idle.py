"""What finished jobs cost: an operator that starts beside them, and then has nothing to do."""

import asyncio
import time
from dataclasses import dataclass

from bench.scale.api import connected, watched
from bench.scale.audit import Audit
from bench.scale.control_plane import ADMIN, ControlPlane
from bench.scale.measure import LIMIT, Size, empty
from bench.scale.process import cpu_seconds, peak_mib, started
from bench.scale.subjects import Operator, is_finished, is_running

_QUIET = 10.0


@dataclass
class Idle:
    """What was seen.

    Attributes:
        subject: Who was measured.
        finished: Jobs that have ended, as in `500x4`.
        settled: Seconds from its start to the last request that this caused.
        start_requests: How many these were.
        seconds: How long it was then left alone.
        idle_requests: What it requested in that time, beside its watches and its Lease.
        idle_cpu: Seconds of processor time that it used in that time.
        mib: The most memory that it has held.
    """

    subject: str
    finished: str
    settled: float
    start_requests: int
    seconds: float
    idle_requests: int
    idle_cpu: float
    mib: float


async def idle(plane: ControlPlane, subject: Operator, size: Size, count: int, seconds: float) -> Idle:
    """Lets jobs end and so many others run, starts the operator again, and leaves it alone."""
    async with connected(plane.url, ADMIN) as api:
        async with (
            started(plane, subject, looked_at=False),
            watched(api, subject.api, subject.plural, is_finished) as ended,
            watched(api, subject.api, subject.plural, is_running) as running,
            asyncio.timeout(LIMIT),
        ):
            finishing = (subject.job(f"done-{index}", size.workers, finish=True) for index in range(size.jobs))
            await api.create_all((subject.api, subject.plural, each) for each in finishing)
            await ended.reached(size.jobs)
            others = [f"runs-{index}" for index in range(count)]
            await api.create_all((subject.api, subject.plural, subject.job(name, 1)) for name in others)
            await running.include(others)
            await Audit(plane.audit, subject.user).quiet(_QUIET, LIMIT)
        begin, starting = time.monotonic(), Audit(plane.audit, subject.user)
        async with started(plane, subject, looked_at=False) as process:
            await starting.quiet(_QUIET, LIMIT)
            settled, requests = starting.last_change() - begin, starting.requests()
            before, resting = cpu_seconds(process.pid), Audit(plane.audit, subject.user)
            await asyncio.sleep(seconds)
            result = Idle(
                subject.name,
                str(size),
                settled,
                requests.reads + requests.writes,
                seconds,
                sum(resting.requests().by_kind.values()),
                cpu_seconds(process.pid) - before,
                peak_mib(process.pid),
            )
            await api.delete_all(subject.api, subject.plural)
            await empty(api)
    return result
