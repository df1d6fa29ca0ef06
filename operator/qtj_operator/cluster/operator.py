"""The operator, put together: watches fill the cache and the queue, workers empty it, the server shows its state."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from qtj_contract.version import installed_version
from qtj_operator.api.names import API_VERSION, GROUP
from qtj_operator.cluster.account import account_of
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import connect, transport
from qtj_operator.cluster.garbage import short_collections
from qtj_operator.cluster.leader import lead
from qtj_operator.cluster.progress import ProgressPoller
from qtj_operator.cluster.reflector import CHILDREN, Reflector
from qtj_operator.cluster.server import serve
from qtj_operator.cluster.studies import Studies
from qtj_operator.cluster.watch import watch
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Client, Key, Resource
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.controller.runtime import Runtime
from qtj_operator.controller.watch_handler import WatchHandler
from qtj_operator.core.platform import CLUSTER, Platform

__all__ = ["Settings", "check_installed", "run_operator"]

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 2.0
_AGAIN_SECONDS = 30.0
_OF_NO_JOB = {f"{GROUP}/asks": "nothing"}
"""A label that no job has: whether jobs may be listed is to be known, and there may be thousands."""
_FINAL = {401, 403, 404}
"""HTTP statuses that time does not cure. Others pass, such as those of a server whose etcd is in trouble, and that is
when another operator has to take over."""
_BUSY = 429
"""The API server asks for another try later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator is started with.

    Attributes:
        namespace: The only namespace to look after; None for all.
        port: Where to answer probes and Prometheus; 0 for nowhere.
        lease_namespace: Where operators agree on a leader; None to work without asking.
        tensorboard_image: The image of TensorBoard for jobs that name none.
    """

    namespace: str | None
    port: int
    lease_namespace: str | None
    tensorboard_image: str


@dataclass(slots=True)
class _State:
    """What the probes tell: one that stands by is as ready as it can be, one that is refused the Lease is not."""

    handler: WatchHandler
    leads: bool = False
    waits: bool = False

    def stands_by(self, waits: bool) -> None:
        self.waits = waits

    @property
    def ready(self) -> bool:
        return self.handler.is_filled if self.leads else self.waits


async def run_operator(settings: Settings) -> None:
    """Runs the operator until it gets SIGTERM or SIGINT.

    Raises:
        ApiError: There is no cluster, or no CRD in it, or another operator took over.
    """
    where = f"namespace {settings.namespace}" if settings.namespace else "all namespaces"
    log.info("version %s starts, for %s", installed_version(), where)
    queue, limit = WorkQueue[Key](), FairLimit()
    jobs = Jobs()
    metrics = Metrics(lambda: len(queue) + limit.waiting, jobs)
    client = await connect(metrics)
    try:
        with short_collections():
            await _run(client, metrics, settings, queue=queue, limit=limit, jobs=jobs)
    finally:
        await client.close()


async def _run(
    client: ApiClient,
    metrics: Metrics,
    settings: Settings,
    *,
    queue: WorkQueue[Key],
    limit: FairLimit,
    jobs: Jobs,
) -> None:
    cache = Cache()
    handler = WatchHandler(cache, queue.add_news)
    state = _State(handler)
    poller = ProgressPoller(queue.add_news)
    cached = CachedClient(client, cache, queue.add, limit)
    reconciler = Reconciler(
        cached, poller, client.now, jobs, metrics,
        platform=_platform(client, settings), is_current=cache.is_current,
    )  # fmt: skip
    runtime = Runtime(
        cached, reconciler.reconcile, queue, settings.namespace,
        jobs=jobs, metrics=metrics, filled=handler.filled,
    )  # fmt: skip
    studies = Studies(client, limit, settings.namespace)
    received = studies.with_trials(handler)
    reflectors = [Reflector(client, resource, settings.namespace, handler) for resource in CHILDREN]

    async def work() -> None:
        await check_installed(client, settings.namespace, patient=settings.lease_namespace is not None)
        state.leads = True
        metrics.leads()
        await _until_one_ends(
            runtime.run(),
            _again(poller.run, "progress"),
            _again(lambda: watch(client.transport, metrics, received, settings.namespace), "the watch of jobs"),
            *(reflector.run() for reflector in reflectors),
            *studies.running(),
        )

    async with AsyncExitStack() as stack:
        if settings.port:
            probes = serve(settings.port, metrics.registry, alive=lambda: runtime.alive, ready=lambda: state.ready)
            await stack.enter_async_context(probes)
        if settings.lease_namespace is None:
            await work()
        else:
            # A connection of its own: writes may be held for long, and the Lease must not wait behind them.
            of_lease = await stack.enter_async_context(transport(client.transport.configuration))
            await lead(of_lease, settings.lease_namespace, work, state.stands_by)


def _platform(client: ApiClient, settings: Settings) -> Platform:
    account = account_of(client.transport.configuration.api_key.get("BearerToken", ""))
    return replace(CLUSTER, tensorboard_image=settings.tensorboard_image, account=account)


async def _again(run: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
    """Runs something that ends only when the operator does, again where an error of our own or of a library ended it.

    The process would otherwise end at each start, if one object causes the error.
    """
    while True:
        try:
            return await run()
        except ApiError:
            raise
        except Exception:
            log.exception("%s ended, which is a defect of the operator; next try in %.0f s", what, _AGAIN_SECONDS)
            await asyncio.sleep(_AGAIN_SECONDS)


async def _until_one_ends(*coroutines: Coroutine[Any, Any, None]) -> None:
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
