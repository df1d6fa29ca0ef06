"""The operator, put together: watches fill the queue, workers empty it, the server tells how it goes."""

import asyncio
from dataclasses import dataclass

from qtj_operator.api.names import API_VERSION
from qtj_operator.cluster.api import ApiClient, connect
from qtj_operator.cluster.progress import ProgressPoller
from qtj_operator.cluster.server import serve
from qtj_operator.cluster.watch import watch
from qtj_operator.controller.client import ApiError, Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Key, Reconciler
from qtj_operator.controller.runtime import Runtime

__all__ = ["run_operator"]


@dataclass(slots=True)
class _State:
    watching: bool = False


async def run_operator(namespace: str | None, port: int) -> None:
    """Runs the operator until it gets SIGTERM or SIGINT.

    Args:
        namespace: The only namespace to look after; None for all.
        port: Where to answer probes and Prometheus; 0 for nowhere.

    Raises:
        ApiError: There is no cluster, or no CRD in it.
    """
    queue: WorkQueue[Key] = WorkQueue()
    metrics = Metrics(lambda: len(queue))
    client = await connect(metrics)
    try:
        await _check(client, namespace)
        await _run(client, queue, metrics, namespace, port)
    finally:
        await client.close()


async def _run(client: ApiClient, queue: WorkQueue[Key], metrics: Metrics, namespace: str | None, port: int) -> None:
    state = _State()

    def watching() -> None:
        state.watching = True

    poller = ProgressPoller(queue.add)
    reconciler = Reconciler(client, poller)
    runtime = Runtime(client, reconciler.reconcile, queue, namespace, metrics)
    if port:
        await serve(port, metrics.registry, alive=lambda: runtime.alive, ready=lambda: state.watching)
    background = [asyncio.create_task(runtime.run()), asyncio.create_task(poller.run())]
    watches = asyncio.create_task(watch(queue.add, namespace, watching))
    try:
        done, _ = await asyncio.wait([watches, *background], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (watches, *background):
            task.cancel()
        await asyncio.gather(watches, *background, return_exceptions=True)


async def _check(client: ApiClient, namespace: str | None) -> None:
    """Finds out at once whether the CRD is there and may be read: kopf would wait for it without a word."""
    try:
        await client.list(Resource.QUANTUM_TRAINING_JOBS, namespace, {})
    except ApiError as error:
        if error.code == 404:  # noqa: PLR2004
            raise ApiError(404, error.reason, f"the cluster has no {API_VERSION}: kubectl apply -f crds/") from None
        raise
