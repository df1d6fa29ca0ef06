"""The Lease as the election asks for it, and why it cannot be used."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

import aiohttp
from kubernetes.aio import client as kubernetes
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

__all__ = ["ANSWER_SECONDS", "Lease", "Reminder", "Trouble"]

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
class Trouble:
    """Why a request for the Lease failed.

    Attributes:
        code: HTTP status code; 0 when there was no answer.
        sentence: What, where and what to do.
        lasting: Whether somebody has to act; else time alone may cure it.
    """

    code: int
    sentence: str
    lasting: bool


class Reminder:
    """Tells when trouble is worth a log line: when it begins, and at most once a minute for each answer."""

    def __init__(self) -> None:
        self._logged: dict[int, float] = {}

    def is_due(self, trouble: Trouble) -> bool:
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

    trouble: Trouble | None = None

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

    def _trouble(self, verb: str, error: kubernetes.ApiException) -> Trouble:
        cure = _CURES.get(error.status)
        what = f'cannot {verb} Lease {self.name} in namespace "{self.namespace}": {_server_message(error)}'
        return Trouble(error.status, f"{what}; {cure or 'the operator keeps trying'}", lasting=cure is not None)


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
