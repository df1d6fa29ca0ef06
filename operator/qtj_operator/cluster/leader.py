"""Leader election by a coordination Lease: of several operators one works, and the others wait for it to fail.

kopf's own peering pauses all peers of equal priority and needs a CRD; a Lease is what every Kubernetes has.
"""

import asyncio
import contextlib
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable

import aiohttp
from kubernetes.aio import client as kubernetes
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

from qtj_operator.api.names import MANAGED_BY
from qtj_operator.controller.client import ApiError

__all__ = ["lead"]

_LEASE_SECONDS = 15
_RENEW_SECONDS = 10
_RETRY_SECONDS = 2


async def lead(transport: kubernetes.ApiClient, namespace: str, work: Callable[[], Awaitable[None]]) -> None:
    """Waits until this operator leads, and works until the work ends or the lease is lost.

    Args:
        transport: The connection to the API server.
        namespace: Where the Lease is, namely where the operator's pods are.
        work: What only one operator may do.

    Raises:
        ApiError: The API server is out of reach, or the lease was lost; the process is to end before another operator
            begins.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[None] = loop.create_future()

    async def working() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  whoever awaits the outcome gets it
            _settle(outcome, error)
        else:
            _settle(outcome, None)

    async def deposed() -> None:
        _settle(outcome, ApiError(0, "LeaseLost", "the lease could not be renewed in time, so another operator leads"))

    # Until it works, and kopf listens for signals, there is nothing to wind up.
    loop.add_signal_handler(signal.SIGTERM, _settle, outcome, None)
    lock = _Lease(MANAGED_BY, namespace, f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}", transport)
    election = LeaderElection(Config(lock, _LEASE_SECONDS, _RENEW_SECONDS, _RETRY_SECONDS, working, deposed))
    candidate = asyncio.create_task(election.run())
    try:
        await asyncio.wait([candidate, outcome], return_when=asyncio.FIRST_COMPLETED)
        await (outcome if outcome.done() else candidate)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ApiError(0, "Unreachable", f"the API server cannot be asked who leads: {error or 'timeout'}") from error
    else:
        await _resign(transport, election, namespace)
    finally:
        candidate.cancel()
        await asyncio.gather(candidate, return_exceptions=True)


class _Lease(LeaseLock):
    """A Lease that can be created: the library's own method passes an argument that its client refuses (37.0.2)."""

    async def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        meta = kubernetes.V1ObjectMeta(name=name)
        lease = kubernetes.V1Lease(metadata=meta, spec=self.update_lease(election_record))
        try:
            await self.api_instance.create_namespaced_lease(namespace, lease)
        except kubernetes.ApiException:
            return False
        return True


def _settle(outcome: asyncio.Future[None], error: Exception | None) -> None:
    if outcome.done():
        return
    if error is None:
        outcome.set_result(None)
    else:
        outcome.set_exception(error)


async def _resign(transport: kubernetes.ApiClient, election: LeaderElection, namespace: str) -> None:
    """Removes the Lease if it is ours, so that the next operator need not wait for it to expire."""
    record = election.observed_record
    if record is None or record.holder_identity != election.election_config.lock.identity:
        return
    with contextlib.suppress(kubernetes.ApiException, aiohttp.ClientError, OSError):
        await kubernetes.CoordinationV1Api(transport).delete_namespaced_lease(MANAGED_BY, namespace)
