"""Leader election by a coordination Lease: of several operators one works, and the others wait for it to fail.

kopf's own peering pauses all peers of equal priority and needs a CRD; a Lease is what every Kubernetes has.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

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
_ANSWER_SECONDS = 4
"""How long one request may take: a server without its etcd holds requests for a minute, beyond the lease."""

log = logging.getLogger(__name__)

T = TypeVar("T")


async def lead(transport: kubernetes.ApiClient, namespace: str, work: Callable[[], Awaitable[None]]) -> None:
    """Waits until this operator leads, and works until the work ends or the lease is lost.

    An API server that is away is waited for: a candidate goes on asking, and a leader works on for as long as the lease
    lasts, since nobody else can take it meanwhile.

    Args:
        transport: The connection to the API server.
        namespace: Where the Lease is, namely where the operator's pods are.
        work: What only one operator may do.

    Raises:
        ApiError: The lease was lost; the process is to end before another operator begins.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[None] = loop.create_future()
    deposed = asyncio.Event()

    async def working() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  whoever awaits the outcome gets it
            _settle(outcome, error)
        else:
            _settle(outcome, None)

    async def lost() -> None:
        deposed.set()
        _settle(outcome, ApiError(0, "LeaseLost", "the lease could not be renewed in time, so another operator leads"))

    # Until it works, and kopf listens for signals, there is nothing to wind up.
    loop.add_signal_handler(signal.SIGTERM, _settle, outcome, None)
    lock = _Lease(MANAGED_BY, namespace, f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}", transport)
    election = LeaderElection(Config(lock, _LEASE_SECONDS, _RENEW_SECONDS, _RETRY_SECONDS, working, lost))
    candidate = asyncio.create_task(election.run())
    try:
        await asyncio.wait([candidate, outcome], return_when=asyncio.FIRST_COMPLETED)
        await (outcome if outcome.done() else candidate)
    finally:
        candidate.cancel()
        await asyncio.gather(candidate, return_exceptions=True)
        if not deposed.is_set():
            await _resign(transport, election, namespace)


class _Lease(LeaseLock):
    """A Lease for which an API server that is away is one that has not answered yet.

    The library's own methods let such an error end the election, and with it the leader's work; and its `create` passes
    an argument that its client refuses (37.0.2).
    """

    async def get(
        self, name: str, namespace: str
    ) -> tuple[bool, LeaderElectionRecord] | tuple[bool, Exception] | tuple[bool, None]:
        try:
            return await _answered(super().get(name, namespace))
        except kubernetes.ApiException as error:
            return False, error

    async def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        meta = kubernetes.V1ObjectMeta(name=name)
        lease = kubernetes.V1Lease(metadata=meta, spec=self.update_lease(election_record))
        return await _succeeds(self.api_instance.create_namespaced_lease(namespace, lease))

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        assert self.lease_reference is not None  # noqa: S101  the library reads it before
        self.lease_reference.spec = self.update_lease(updated_record, self.lease_reference.spec)
        replaced = self.api_instance.replace_namespaced_lease(name, namespace, self.lease_reference)
        return await _succeeds(replaced)


async def _succeeds(request: Awaitable[object]) -> bool:
    try:
        await _answered(request)
    except kubernetes.ApiException:
        return False
    return True


async def _answered(request: Awaitable[T]) -> T:
    """Waits for an answer, and says so when there is none.

    Raises:
        ApiException: The request was refused, or nobody answered it in time.
    """
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await request
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        log.warning("the API server cannot be asked who leads: %s", error or "timeout")
        raise kubernetes.ApiException(status=0, reason="Unreachable") from error


def _settle(outcome: asyncio.Future[None], error: Exception | None) -> None:
    if outcome.done():
        return
    if error is None:
        outcome.set_result(None)
    else:
        outcome.set_exception(error)


async def _resign(transport: kubernetes.ApiClient, election: LeaderElection, namespace: str) -> None:
    """Removes the Lease if it is ours, so that the next operator need not wait for it to expire.

    However the work ended: it has, and so another may begin.
    """
    record = election.observed_record
    if record is None or record.holder_identity != election.election_config.lock.identity:
        return
    with contextlib.suppress(kubernetes.ApiException):
        await _answered(kubernetes.CoordinationV1Api(transport).delete_namespaced_lease(MANAGED_BY, namespace))
