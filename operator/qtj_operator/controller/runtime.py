"""Keeps jobs reconciled: a pass for each job that is due, and a resync of all jobs."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta

from qtj_operator.controller.client import ApiError, Client, Key, Resource
from qtj_operator.controller.journal import log_fields
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue

__all__ = ["RESYNC_SECONDS", "Runtime"]

log = logging.getLogger(__name__)

_KINDS = {Resource.QUANTUM_TRAINING_JOBS: "job", Resource.QUANTUM_TRAINING_STUDIES: "study"}
"""What a log line calls them."""

RESYNC_SECONDS = 300.0
_OUTAGE_SECONDS = 3.0
"""The longest pause while the API server is out of reach: nobody tells us when it is back, and then work has piled up.
One that refuses is asked less often."""
_HANGS_SECONDS = 5.0
"""A pass that fails after so long had a request that hung: the API server is there, and a webhook does not answer."""


async def _at_once() -> None:
    """Waits for nothing."""


class Runtime:
    """The running operator, apart from its watches.

    Args:
        client: The cluster.
        reconcile: One pass over one job; see `qtj_operator.controller.reconcile`.
        queue: Keys of jobs that are worth a look; the watches fill it.
        namespace: The only namespace to look after; None for all.
        jobs: The jobs that are known: a resync looks at each, also at one that is gone.
        metrics: Where passes are counted.
        filled: Waits until what passes read is there.
        resource: What passes are about: studies, too, have a runtime.
    """

    def __init__(
        self,
        client: Client,
        reconcile: Callable[[Key], Awaitable[timedelta | None]],
        queue: WorkQueue[Key],
        namespace: str | None,
        *,
        jobs: Collection[Key],
        metrics: Metrics,
        filled: Callable[[], Awaitable[None]] = _at_once,
        resource: Resource = Resource.QUANTUM_TRAINING_JOBS,
    ) -> None:
        self._client = client
        self._reconcile = reconcile
        self._queue = queue
        self._namespace = namespace
        self._jobs = jobs
        self._metrics = metrics
        self._filled = filled
        self._resource = resource
        self._kind = _KINDS[resource]
        self._beat: float | None = None

    @property
    def alive(self) -> bool:
        """Whether the resync runs, once it has begun.

        It does so while the API server is away, which no restart would cure.
        """
        return self._beat is None or time.monotonic() - self._beat < 2 * RESYNC_SECONDS

    async def run(self) -> None:
        """Runs until cancelled; an unexpected error ends it, and with it the process: a restart is the cure."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._resync())
            tasks.create_task(self._begin_passes(tasks))

    async def _begin_passes(self, tasks: asyncio.TaskGroup) -> None:
        """Begins at most one in each turn of the event loop: most wait for nothing, and there may be many."""
        await self._filled()
        while True:
            await asyncio.sleep(0)
            tasks.create_task(self._pass(await self._queue.take()))

    async def _pass(self, key: Key) -> None:
        begun = asyncio.get_running_loop().time()
        with self._metrics.timed() as outcome:
            try:
                delay = await self._reconcile(key)
            except ApiError as error:
                outcome.failed()
                wait = self._put_off(key, error, begun)
                log.warning("%s/%s: %s; next try in %.1f s", *key, error, wait, extra=log_fields(key, self._kind))
                return
            except Exception:
                # One job that we cannot handle must not take the others down with it.
                outcome.failed()
                wait = self._queue.retry(key)
                defect = "%s/%s: this is a defect of the operator; next try in %.1f s"
                log.exception(defect, *key, wait, extra=log_fields(key, self._kind))
                return
        if delay is None:
            self._queue.wait_no_more(key)
        else:
            self._queue.add_after(key, delay.total_seconds())
        self._queue.done(key)  # last: news that has come meanwhile makes the key due in its own time

    def _put_off(self, key: Key, error: ApiError, begun: float) -> float:
        if error.code != 0:
            return self._queue.retry(key, shortest=error.retry_after)
        if asyncio.get_running_loop().time() - begun < _HANGS_SECONDS:
            return self._queue.retry(key, _OUTAGE_SECONDS)
        return self._queue.retry(key, hung=True)

    async def _resync(self) -> None:
        """Looks at every job now and then: a watch may lose events, and kopf does not report objects that vanished."""
        await self._filled()
        while True:
            self._beat = time.monotonic()
            try:
                jobs = await self._client.list(self._resource, self._namespace, {})
            except ApiError as error:
                log.warning("jobs cannot be listed: %s", error)
            except Exception:
                log.exception("jobs cannot be listed: this is a defect of the operator")
            else:
                listed = [(job["metadata"]["namespace"], job["metadata"]["name"]) for job in jobs]
                known = (key for key in self._jobs if self._namespace in {None, key[0]})
                for key in dict.fromkeys((*listed, *known)):
                    self._queue.add(key)
                self._metrics.resynced(self._namespace, self._resource)
            await asyncio.sleep(RESYNC_SECONDS)
