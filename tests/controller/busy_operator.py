"""A whole operator on a cluster in memory whose API server is slow, in virtual time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.local.store import Change
from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.controller.runtime import Runtime
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.memory import Cluster, Replicas
from tests.jobs import job_object

JOBS = Resource.QUANTUM_TRAINING_JOBS
WRITES_PER_SECOND = 62
"""As measured with five jobs of 1,000 workers: 10,000 writes in 160 s."""
TIMEOUT_SECONDS = 15.0
"""After which a client gives up."""


@dataclass(frozen=True)
class Hang:
    """What a webhook that hangs makes of a request to create something.

    Attributes:
        seconds: How long the request takes.
        error: What is answered then; None for success.
    """

    seconds: float
    error: ApiError | None = None

    async def ends(self) -> None:
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error


NO_ANSWER = Hang(TIMEOUT_SECONDS, ApiError(0, "Unreachable", "the API server cannot be reached: timeout"))
"""The webhook has more time than the client."""
REFUSED = Hang(
    10.0,
    ApiError(
        500, "InternalError",
        'Internal error occurred: failed calling webhook "slow.example.com": failed to call webhook: '
        'Post "https://slow.team.svc:443/?timeout=10s": context deadline exceeded',
    ),
)  # fmt: skip
"""The default timeout of webhooks, and the default failurePolicy, which is Fail."""
IGNORED = Hang(3.0)
"""With the failurePolicy Ignore, the object is created."""
EVERY_HANG = [
    pytest.param(NO_ANSWER, id="no answer"),
    pytest.param(REFUSED, id="refused", marks=pytest.mark.slow),
    pytest.param(IGNORED, id="ignored", marks=pytest.mark.slow),
]


class SlowCluster(Cluster):
    """An API server that creates children one after the other.

    Attributes:
        hung: Namespaces in which an admission webhook hangs.
        stuck: Namespaces in which it hangs for deletions.
        created: The names of children, in the order in which they were created.
    """

    def __init__(self, clock: Callable[[], datetime], on_change: Callable[[Change], None]) -> None:
        super().__init__(clock, on_change)
        self.hung: dict[str, Hang] = {}
        self.stuck: dict[str, Hang] = {}
        self.created: list[str] = []
        self._free = 0.0

    async def create(self, resource: Resource, manifest: Object) -> Object:
        if resource not in {JOBS, Resource.EVENTS}:
            await self._has_its_turn(manifest["metadata"]["namespace"])
            self.created.append(manifest["metadata"]["name"])
        return await super().create(resource, manifest)

    def created_of(self, namespace: str, job: str) -> int:
        """How many children a job has, whose name ends with a number."""
        found = [*self.store.select(Resource.PODS, namespace, {}), *self.store.select(Resource.SERVICES, namespace, {})]
        return sum(child["metadata"]["name"].startswith(f"{job}-worker-") for child in found)

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        if namespace in self.stuck:
            await self.stuck[namespace].ends()
        return await super().delete(resource, namespace, name, version, force=force)

    async def _has_its_turn(self, namespace: str) -> None:
        if namespace in self.hung:
            await self.hung[namespace].ends()
            return
        now = asyncio.get_running_loop().time()
        self._free = max(self._free, now) + 1 / WRITES_PER_SECOND
        await asyncio.sleep(self._free - now)


def gang(workers: int) -> dict[str, object]:
    """Returns the fields of the spec of a job with so many workers."""
    return {"replicaSpecs": {"Worker": {"replicas": workers}}}


class BusyOperator:
    """A running operator, and the users of its cluster.

    Attributes:
        cluster: The cluster.
        passes: How many have begun over each job.
    """

    def __init__(self) -> None:
        self.cluster = SlowCluster(self._clock, self._hear)
        self.passes: Counter[Key] = Counter()
        self._cache = Cache()
        self._queue = WorkQueue[Key](jitter=0)
        self._handler = WatchHandler(self._cache, self._queue.add_news)
        for resource in CACHED:
            self._handler.listed(resource, [], "0")

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["BusyOperator"]:
        operator = cls()
        task = asyncio.create_task(operator._run())
        yield operator
        assert not task.done(), f"the operator ended: {task}"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def applies(self, namespace: str, name: str, **spec: Any) -> None:
        manifest = job_object(name=name, namespace=namespace, **spec)
        del manifest["metadata"]["uid"]
        await self.cluster.create(JOBS, manifest)

    async def applies_many(self, namespace: str, name: str, number: int, **spec: Any) -> None:
        for each in range(number):
            await self.applies(namespace, f"{name}-{each}", **spec)

    def edits(self, namespace: str, name: str, **fields: Any) -> None:
        spec = {**self.job(namespace, name)["spec"], **fields}
        self.cluster.edit(JOBS, namespace, name, spec=spec)

    def job(self, namespace: str, name: str) -> Object:
        return self.cluster.store.find(JOBS, namespace, name)

    async def seconds_until_suspended(self, namespace: str, name: str) -> float:
        """Suspends a job; returns how long it takes until its status says so."""
        self.edits(namespace, name, suspend=True)
        return await seconds_until(lambda: self.job(namespace, name)["status"]["phase"] == "Suspended")

    async def seconds_until_each_is_suspended(self, namespace: str, jobs: int, *, pause: float) -> list[float]:
        """Suspends small-0, small-1 and so on, one after the other with pauses; returns how long each takes."""
        waited = []
        for number in range(jobs):
            waited.append(await self.seconds_until_suspended(namespace, f"small-{number}"))
            await asyncio.sleep(pause)
        return waited

    async def seconds_until_it_has_pods(self, namespace: str, name: str) -> float:
        """Returns how long it takes until the first pod of a job is there."""
        return await seconds_until(lambda: self.cluster.store.has(Resource.PODS, namespace, f"{name}-worker-0"))

    async def _run(self) -> None:
        metrics, jobs = Metrics(), Jobs()
        cached = CachedClient(self.cluster, self._cache, self._queue.add)
        reconciler = Reconciler(cached, Replicas(), self._clock, jobs, metrics, is_current=self._cache.is_current)

        async def counted(key: Key) -> timedelta | None:
            self.passes[key] += 1
            return await reconciler.reconcile(key)

        await Runtime(cached, counted, self._queue, None, jobs=jobs, metrics=metrics).run()

    def _clock(self) -> datetime:
        passed = timedelta(seconds=asyncio.get_running_loop().time())
        return (datetime(2030, 1, 1, tzinfo=UTC) + passed).replace(microsecond=0)

    def _hear(self, change: Change) -> None:
        if change.resource in CACHED:
            asyncio.get_running_loop().call_soon(self._handler.changed, change.resource, change.type, change.object)


async def seconds_until(happens: Callable[[], bool]) -> float:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not happens():
        assert loop.time() < begun + 3600, "never"
        await asyncio.sleep(0.1)
    return loop.time() - begun
