"""Leader election by a coordination Lease: of several operators one works, and the others wait for it to fail.

kopf's own peering pauses all peers of equal priority and needs a CRD; a Lease is what every Kubernetes has.
"""

import asyncio
import logging
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from kubernetes.aio import client as kubernetes
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection

from qtj_operator.api.names import MANAGED_BY
from qtj_operator.cluster.lease import Lease, Reminder
from qtj_operator.controller.client import ApiError

__all__ = ["Election", "lead"]

_LEASE_SECONDS = 15
_RENEW_SECONDS = 13
_RETRY_SECONDS = 2

_WORK_SECONDS = 14.0
"""From the beginning of the last renewal to the end of the work, at the latest. The library looks only between two
tries, which may hang, and by a clock that can be set. Others count from when the renewal was stored, which is later."""

log = logging.getLogger(__name__)


async def lead(
    transport: kubernetes.ApiClient,
    namespace: str,
    work: Callable[[], Awaitable[None]],
    waits: Callable[[bool], None],
) -> None:
    """Waits until this operator leads, and works until the work ends or the lease is lost.

    An API server that is away is waited for: a candidate keeps asking, and a leader continues for as long as the lease
    lasts, since nobody else can take it meanwhile. So is one that refuses: rights may be applied after the operator.

    Args:
        transport: The connection to the API server.
        namespace: Where the Lease is, namely where the operator's pods are.
        work: What only one operator may do.
        waits: Told after each try whether waiting is enough: it is not where the Lease is refused.

    Raises:
        ApiError: The lease was lost; the process is to end before another operator begins.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[None] = loop.create_future()
    deposed = asyncio.Event()

    async def working() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  it is raised where the outcome is awaited
            _settle(outcome, error)
        else:
            _settle(outcome, None)

    def depose() -> None:
        deposed.set()
        _settle(outcome, ApiError(0, "LeaseLost", "the lease could not be renewed in time, so another operator leads"))

    # Until it works, and kopf listens for signals, there is nothing to stop.
    loop.add_signal_handler(signal.SIGTERM, _settle, outcome, None)
    lock = Lease(MANAGED_BY, namespace, f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}", transport)
    election = Election(lock, working, waits, depose)
    candidate = asyncio.create_task(election.run())
    try:
        await asyncio.wait([candidate, outcome], return_when=asyncio.FIRST_COMPLETED)
        await (outcome if outcome.done() else candidate)
    finally:
        candidate.cancel()
        await asyncio.gather(candidate, return_exceptions=True)
        if not deposed.is_set():
            await election.resign()


class Election(LeaderElection):
    """An election that logs who leads, and why the Lease cannot be used.

    Args:
        lock: The Lease.
        working: What to do once it is ours.
        waits: See `lead`.
        depose: Called once it is lost, or when the last renewal was so long ago that another may soon take it.
    """

    def __init__(
        self,
        lock: Lease,
        working: Callable[[], Coroutine[Any, Any, None]],
        waits: Callable[[bool], None],
        depose: Callable[[], None],
    ) -> None:
        super().__init__(Config(lock, _LEASE_SECONDS, _RENEW_SECONDS, _RETRY_SECONDS, working, self._lost))
        self._depose = depose
        self._deadline: asyncio.TimerHandle | None = None
        self._lock = lock
        self._waits = waits
        self._reminder = Reminder()
        self._leader: str | None = None

    async def try_acquire_or_renew(self) -> bool:
        """Asks once; the library does so every two seconds."""
        began = asyncio.get_running_loop().time()
        won = await super().try_acquire_or_renew()
        if won:
            self._work_until(began + _WORK_SECONDS)
        trouble = self._lock.trouble
        self._warn()
        self._log_leader()
        self._waits(trouble is None or not trouble.lasting)
        return won

    async def _lost(self) -> None:
        self._depose()

    def _work_until(self, deadline: float) -> None:
        if self._deadline:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_at(deadline, self._depose)

    async def resign(self) -> None:
        """Removes the Lease if it is ours, however the work ended: it has, and so another may begin."""
        if self._deadline:
            self._deadline.cancel()
        if self._leader == self._lock.identity:
            await self._lock.delete()
            self._warn()

    def _warn(self) -> None:
        trouble = self._lock.trouble
        if trouble is not None and self._reminder.is_due(trouble):
            log.warning("%s", trouble.sentence)

    def _log_leader(self) -> None:
        """Says who leads whenever it is somebody else."""
        leader = self.observed_record.holder_identity if self.observed_record else None
        if leader is None or leader == self._leader:
            return
        self._leader = leader
        log.info("leading as %s" if leader == self._lock.identity else "standing by: %s leads", leader)


def _settle(outcome: asyncio.Future[None], error: Exception | None) -> None:
    if outcome.done():
        return
    if error is None:
        outcome.set_result(None)
    else:
        outcome.set_exception(error)
