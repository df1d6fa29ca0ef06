"""One measured round: an operator gets so many jobs at once, and everything is seen in watches of our own."""

import asyncio
import time
from dataclasses import dataclass, field

from bench.scale.api import Api, connected, until, watched
from bench.scale.audit import Audit
from bench.scale.control_plane import ADMIN, ControlPlane
from bench.scale.process import cpu_seconds, peak_mib, started
from bench.scale.subjects import Operator, children, is_running

LIMIT = 900.0
"""Seconds for a round; far more than the slowest takes."""
_QUIET = 2.0


@dataclass(frozen=True)
class Size:
    """So many jobs with so many workers each."""

    jobs: int
    workers: int

    def __str__(self) -> str:
        return f"{self.jobs}x{self.workers}"

    @property
    def replicas(self) -> int:
        """Of all jobs."""
        return self.jobs * self.workers


@dataclass
class Round:
    """What one round has shown. Times are in seconds since the first job was sent.

    Attributes:
        subject: Who was measured.
        size: As in `100x4`.
        pods: When the last pod existed.
        running: When the last job was reported as running; None for the floor, which has no jobs.
        cpu: Seconds of processor time of the operator.
        mib: The most memory that it has held.
        health: The longest that its health check took.
        requests: What it requested, by verb and resource.
        writes: Of these, those that change something, events left out.
        reads: Of these, gets and lists.
        conflicts: Of the writes, those that were refused as outdated.
    """

    subject: str
    size: str
    pods: float
    running: float | None = None
    cpu: float = 0.0
    mib: float = 0.0
    health: float = 0.0
    requests: dict[str, int] = field(default_factory=dict)
    writes: int = 0
    reads: int = 0
    conflicts: int = 0


async def floor(plane: ControlPlane, size: Size) -> Round:
    """Measures a client that creates the same pods and Services."""
    async with connected(plane.url, ADMIN) as api, watched(api, "v1", "pods") as pods:
        begin = time.monotonic()
        async with asyncio.timeout(LIMIT):
            await api.create_all(children(size.jobs, size.workers))
            last = await pods.reached(size.replicas)
        await empty(api)
    return Round("floor", str(size), last - begin)


async def operator(plane: ControlPlane, subject: Operator, size: Size) -> Round:
    """Measures an operator, started for this round."""
    async with connected(plane.url, ADMIN) as api, started(plane, subject) as process:
        audit = Audit(plane.audit, subject.user)
        async with (
            watched(api, "v1", "pods") as pods,
            watched(api, subject.api, subject.plural, is_running) as jobs,
        ):
            before, begin = cpu_seconds(process.pid), time.monotonic()
            async with asyncio.timeout(LIMIT):
                manifests = (subject.job(f"job-{index}", size.workers) for index in range(size.jobs))
                await api.create_all((subject.api, subject.plural, each) for each in manifests)
                last_pod = await pods.reached(size.replicas)
                running = await jobs.reached(size.jobs)
            await audit.quiet(_QUIET, LIMIT)
        seen = audit.requests()
        result = Round(
            subject.name,
            str(size),
            last_pod - begin,
            running - begin,
            cpu_seconds(process.pid) - before,
            peak_mib(process.pid),
            process.slowest(),
            dict(seen.by_kind),
            seen.writes,
            seen.reads,
            seen.conflicts,
        )
        await api.delete_all(subject.api, subject.plural)
        await empty(api)
    return result


async def empty(api: Api) -> None:
    """Deletes pods and Services, and waits until there are none."""

    async def gone() -> bool:
        for plural in ("pods", "services"):
            await api.delete_all("v1", plural)
        return not await api.count("v1", "pods") and not await api.count("v1", "services")

    async with asyncio.timeout(LIMIT):
        await until(gone)
