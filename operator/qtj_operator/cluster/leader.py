"""Leader election by a coordination Lease: of several operators one works, and the others wait for it to fail.

kopf's own peering pauses all peers of equal priority and needs a CRD; a Lease is what every Kubernetes has.
"""

import asyncio
import json
import logging
import math
import signal
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
from kubernetes.aio import client as kubernetes
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

from qtj_operator.api.names import MANAGED_BY
from qtj_operator.controller.client import ApiError

__all__ = ["ANSWER_SECONDS", "Election", "Lease", "lead"]

ANSWER_SECONDS = 4
"""How long one request may take: a server without its etcd holds requests for a minute, beyond the lease."""
_REMINDER_SECONDS = 60.0
_CURES = {
    401: "give the operator credentials that the API server takes",
    403: "bind its service account to the Role qtj-operator-lease there (deploy/helm/files/operator/rbac.yaml)",
    404: "create the namespace, or name another with --lease-namespace",
}
"""What helps where asking again does not."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a request for the Lease failed.

    Attributes:
        code: HTTP status code; 0 when there was no answer.
        sentence: What, where and what to do.
        lasting: Whether somebody has to act; else time alone may cure it.
    """

    code: int
    sentence: str
    lasting: bool


class _Reminder:
    """Tells when trouble is worth a log line: when it begins, and at most once a minute for each answer."""

    def __init__(self) -> None:
        self._logged: dict[int, float] = {}

    def is_due(self, trouble: _Trouble) -> bool:
        """Whether to say it now."""
        now = time.monotonic()
        if now - self._logged.get(trouble.code, -math.inf) < _REMINDER_SECONDS:
            return False
        self._logged[trouble.code] = now
        return True


class Lease(LeaseLock):
    """A Lease for which an API server that is away is one that has not answered yet.

    The library's own methods let such an error end the election, and with it the leader's work; they do not show
    a refusal; and its `create` passes an argument that its client refuses (37.0.2).

    Attributes:
        trouble: Why the last request failed, if it did; a race that another operator won is none.
    """

    trouble: _Trouble | None = None

    async def get(
        self, name: str, namespace: str
    ) -> tuple[bool, LeaderElectionRecord] | tuple[bool, Exception] | tuple[bool, None]:
        lease: kubernetes.V1Lease | Exception = await self._ask(
            "get", self.api_instance.read_namespaced_lease(name, namespace), 404
        )
        if isinstance(lease, Exception):
            return False, lease
        self.lease_reference = lease
        return True, self.election_record(lease)

    async def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        meta = kubernetes.V1ObjectMeta(name=name)
        lease = kubernetes.V1Lease(metadata=meta, spec=self.update_lease(election_record))
        created = self.api_instance.create_namespaced_lease(namespace, lease)
        return not isinstance(await self._ask("create", created, 409), Exception)

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        assert self.lease_reference is not None
        self.lease_reference.spec = self.update_lease(updated_record, self.lease_reference.spec)
        replaced = self.api_instance.replace_namespaced_lease(name, namespace, self.lease_reference)
        return not isinstance(await self._ask("update", replaced, 404, 409), Exception)

    async def delete(self) -> None:
        """Removes it while it is ours, so that the next operator does not have to wait for it to expire.

        It is read first: a renewal may have been under way. What another takes after that stays.
        """
        lease: kubernetes.V1Lease | Exception = await self._ask(
            "get", self.api_instance.read_namespaced_lease(self.name, self.namespace), 404
        )
        if isinstance(lease, Exception) or self.election_record(lease).holder_identity != self.identity:
            return
        assert lease.metadata is not None
        seen = kubernetes.V1Preconditions(resource_version=lease.metadata.resource_version, uid=lease.metadata.uid)
        body = kubernetes.V1DeleteOptions(preconditions=seen)
        await self._ask(
            "delete", self.api_instance.delete_namespaced_lease(self.name, self.namespace, body=body), 404, 409
        )

    async def _ask(self, verb: str, request: Awaitable[T], *fine: int) -> T | kubernetes.ApiException:
        """Waits for an answer; returns the refusal, if it is one, and notes it unless its code is `fine`."""
        self.trouble = None
        try:
            return await _response_to(request)
        except kubernetes.ApiException as error:
            if error.status not in fine:
                self.trouble = self._trouble(verb, error)
            return error

    def _trouble(self, verb: str, error: kubernetes.ApiException) -> _Trouble:
        cure = _CURES.get(error.status)
        what = f'cannot {verb} Lease {self.name} in namespace "{self.namespace}": {_server_message(error)}'
        return _Trouble(error.status, f"{what}; {cure or 'the operator keeps trying'}", lasting=cure is not None)


async def _response_to(request: Awaitable[T]) -> T:
    """Waits for an answer, and says so when there is none.

    Raises:
        ApiException: The request was refused, or nobody answered it in time.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await request
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:  # a page of a proxy is a ValueError
        why = f"the API server cannot be reached: {str(error) or 'timeout'}"
        raise kubernetes.ApiException(status=0, reason=why) from error


def _server_message(error: kubernetes.ApiException) -> str:
    """Returns the server's own sentence, which names the user and the right; a proxy answers anything."""
    try:
        sentence = str(json.loads(error.body or "")["message"])
    except (ValueError, TypeError, KeyError):
        return f"{error.status} {error.reason}" if error.status else str(error.reason)
    return sentence


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
        self._reminder = _Reminder()
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
