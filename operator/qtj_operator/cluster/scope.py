"""Everything that looks after the jobs of one namespace, or after those of all.

An operator for several namespaces has a scope for each. They share the connection and its limits, and neither cache nor
queue: jobs of a namespace that is missing, or whose rights are, hold up no others.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from qtj_operator.api.names import API_VERSION, GROUP
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.progress import ProgressPoller
from qtj_operator.cluster.reflector import CHILDREN, Reflector
from qtj_operator.cluster.studies import Studies
from qtj_operator.cluster.watch import watch
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Client, Key, Resource
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.controller.runtime import Runtime
from qtj_operator.controller.study_memory import Studies as KnownStudies
from qtj_operator.controller.watch_handler import WatchHandler
from qtj_operator.core.platform import Platform

__all__ = ["AGAIN_SECONDS", "Scope", "Shared", "check_installed", "run_again", "until_one_ends"]

log = logging.getLogger(__name__)

AGAIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the scopes of an operator have in common.

    Attributes:
        client: The connection to the API server.
        metrics: What is counted.
        jobs: The jobs that are known.
        studies: The studies that are known.
        limit: How many requests are under way at once.
        platform: What pods run on.
    """

    client: ApiClient
    metrics: Metrics
    jobs: Jobs
    studies: KnownStudies
    limit: FairLimit
    platform: Platform


class Scope:
    """One namespace, or all of them.

    Args:
        namespace: The only namespace to look after; None for all.
        queue: Keys of jobs that are worth a look.
        studies: Keys of studies that are.
        shared: What it has in common with others.
    """

    def __init__(self, namespace: str | None, queue: WorkQueue[Key], studies: WorkQueue[Key], shared: Shared) -> None:
        self._namespace = namespace
        self._shared = shared
        client, cache = shared.client, Cache()
        self._handler = handler = WatchHandler(cache, queue.add_news)
        self._poller = ProgressPoller(queue.add_news)
        cached = CachedClient(client, cache, queue.add, shared.limit)
        reconciler = Reconciler(
            cached, self._poller, client.now, shared.jobs, shared.metrics,
            platform=shared.platform, is_current=cache.is_current,
        )  # fmt: skip
        self._runtime = Runtime(
            cached, reconciler.reconcile, queue, namespace,
            jobs=shared.jobs, metrics=shared.metrics, filled=handler.filled,
        )  # fmt: skip
        self._reflectors = [Reflector(client, resource, namespace, handler) for resource in CHILDREN]
        self._studies = Studies(
            client, shared.limit, namespace,
            queue=studies, metrics=shared.metrics, platform=shared.platform, known=shared.studies,
        )  # fmt: skip
        self._refused = False

    @property
    def alive(self) -> bool:
        """Whether its resyncs run, once they have begun."""
        return self._runtime.alive and self._studies.alive

    @property
    def ready(self) -> bool:
        """Whether it knows all its jobs, or may not know them: that is for its administrator to change."""
        return self._refused or self._handler.is_filled

    async def run(self, *, awaits_rights: bool) -> None:
        """Runs until cancelled.

        Args:
            awaits_rights: Whether to wait for the right to list jobs, as long as there is none.
        """
        if awaits_rights:
            await self._await_rights()
        shared, namespace = self._shared, self._namespace
        handler = self._studies.with_trials(self._handler)
        await until_one_ends(
            self._runtime.run(),
            run_again(self._poller.run, "progress"),
            run_again(lambda: watch(shared.client.transport, shared.metrics, handler, namespace), "the watch of jobs"),
            *(reflector.run() for reflector in self._reflectors),
            *self._studies.running(),
        )

    async def _await_rights(self) -> None:
        """Waits until jobs may be listed. A namespace that does not exist is refused as well, and may come."""
        while True:
            if await self._may_list():
                return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _may_list(self) -> bool:
        told = self._refused
        try:
            await check_installed(self._shared.client, self._namespace, patient=True)
        except ApiError as error:
            if error.code != HTTPStatus.FORBIDDEN:
                raise
            self._refused = True
            if not told:
                log.warning("jobs in namespace %s are left alone until they may be listed: %s", self._namespace, error)
        else:
            self._refused = False
            if told:
                log.info("jobs in namespace %s may be listed now", self._namespace)
        return not self._refused


async def run_again(run: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
    """Runs something that ends only when the operator does, again where an error of our own or of a library ended it.

    The process would otherwise end at each start, if one object causes the error.
    """
    while True:
        try:
            return await run()
        except ApiError:
            raise
        except Exception:
            log.exception("%s ended, which is a defect of the operator; next try in %.0f s", what, AGAIN_SECONDS)
            await asyncio.sleep(AGAIN_SECONDS)


async def until_one_ends(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Runs all at once; the end of one is the end of all, and its error the error of all."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_PAUSE_SECONDS = 2.0
_OF_NO_JOB = {f"{GROUP}/asks": "nothing"}
"""A label that no job has: whether jobs may be listed is to be known, and there may be thousands."""
_FINAL = {401, 403, 404}
"""HTTP statuses that time does not cure. Others pass, such as those of a server whose etcd is in trouble, and that is
when another operator has to take over."""
_BUSY = 429
"""The API server asks for another try later."""


async def check_installed(client: Client, namespace: str | None, *, patient: bool) -> None:
    """Finds out at once whether the CRD is there and may be read: kopf would wait for it and log nothing.

    Args:
        client: The cluster.
        namespace: The only namespace to look after; None for all.
        patient: Whether to wait for an API server that is out of reach or in trouble; a leader does, for it has just
            been there. One that asks for another try later is waited for in any case: it does so for a CRD that was
            installed just now.
    """
    while True:
        try:
            await client.list(Resource.QUANTUM_TRAINING_JOBS, namespace, _OF_NO_JOB)
        except ApiError as error:
            if error.code == 404:
                raise ApiError(404, error.reason, f"the cluster has no {API_VERSION}: kubectl apply -f crds/") from None
            if error.code in _FINAL or not (patient or error.code == _BUSY):
                raise
            log.warning("jobs cannot be listed: %s; next try in %.1f s", error, _PAUSE_SECONDS)
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
