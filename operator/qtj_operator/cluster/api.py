"""The controller's client over the official client's transport.

Only its connection, credentials and retries are used. Objects stay raw JSON: its models cost ten times the parsing,
and drop fields that are newer than they are.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj_contract.version import installed_version
from qtj_operator.api.names import MANAGED_BY
from qtj_operator.cluster.clock import ServerClock
from qtj_operator.cluster.decode import Pages, decode, decode_child_event
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.metrics import Metrics

__all__ = ["SILENCE_SECONDS", "TIMEOUT_SECONDS", "USER_AGENT", "ApiClient"]

USER_AGENT = f"{MANAGED_BY}/{installed_version()}"
"""The API server writes the first part into the `managedFields` of objects."""

T = TypeVar("T")

TIMEOUT_SECONDS = 15
SILENCE_SECONDS = 155
"""After so long without a line a watch is dead: kube-apiserver sends a bookmark every two minutes at most."""

_BROKEN = (aiohttp.ClientError, TimeoutError, OSError)
"""How a connection fails."""

_WATCH_SECONDS = 300
"""How long the API server keeps a watch before it is asked for again, which spreads them over its replicas."""


class ApiClient:
    """A `qtj_operator.controller.client.Client` that talks to a kube-apiserver.

    Args:
        transport: The connection.
        metrics: Where requests are counted.
        clock: What learns the time from the answers.
    """

    def __init__(self, transport: kubernetes.ApiClient, metrics: Metrics, clock: ServerClock | None = None) -> None:
        transport.user_agent = USER_AGENT
        self._transport = transport
        self._metrics = metrics
        self._clock = clock or ServerClock()

    @property
    def transport(self) -> kubernetes.ApiClient:
        """The connection, for what has a client of its own."""
        return self._transport

    def now(self) -> datetime:
        """The API server's time, in UTC to the second."""
        return self._clock.now()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """See `Client.get`."""
        try:
            found: Object = await self._request("GET", resource, namespace, name)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return found

    async def list(
        self,
        resource: Resource,
        namespace: str | None,
        labels: Mapping[str, str],
        *,
        fresh: bool = False,
    ) -> Sequence[Object]:
        """See `Client.list`; read in pages, so that neither side holds a large cluster at once."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        pages = self.pages(resource, namespace, selector)
        return [obj async for items, _ in pages for obj in items]

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        """See `Client.events_about`."""
        query, size = {"fieldSelector": f"involvedObject.uid={uid}"}, Pages(Resource.EVENTS)
        page = None
        while page is None:
            page = await self._page(Resource.EVENTS, namespace, {**query, "limit": str(size.limit)}, size)
        events: Sequence[Object] = page.get("items") or ()
        return events

    async def pages(
        self, resource: Resource, namespace: str | None, selector: str
    ) -> AsyncIterator[tuple[Sequence[Object], str]]:
        """Yields the objects that a label selector matches, in pages, each with the resourceVersion of the list.

        Raises:
            ApiError: The server refused; with code 410, because the list has become too old for its next page.
        """
        query, size = {"labelSelector": selector}, Pages(resource)
        while True:
            page = await self._page(resource, namespace, {**query, "limit": str(size.limit)}, size)
            if page is None:
                continue
            try:
                meta, items = page["metadata"], page["items"]
            except (LookupError, TypeError) as error:
                raise _unreachable(error) from error
            yield items, meta.get("resourceVersion", "")
            if not meta.get("continue"):
                return
            query["continue"] = meta["continue"]

    async def _page(
        self, resource: Resource, namespace: str | None, query: Mapping[str, str], size: Pages
    ) -> Object | None:
        """Returns a page of a list; None where it was too large."""
        return await self._answered("GET", self._url(resource, namespace, query=query), None, resource, size.read)

    async def watch(
        self, resource: Resource, namespace: str | None, selector: str, version: str
    ) -> AsyncIterator[Object]:
        """Yields the events of objects that a label selector matches, until the server ends the watch.

        Args:
            resource: What to watch.
            namespace: The only namespace to watch; None for all.
            selector: The label selector.
            version: The resourceVersion after which the events begin.

        Raises:
            ApiError: The server refused, or the connection broke or was silent for too long.
        """
        query = {"watch": "true", "allowWatchBookmarks": "true", "labelSelector": selector, "resourceVersion": version}
        query["timeoutSeconds"] = str(_WATCH_SECONDS)
        limits = aiohttp.ClientTimeout(sock_connect=TIMEOUT_SECONDS, sock_read=SILENCE_SECONDS)
        code = 0
        try:
            answer = await self._open("GET", self._url(resource, namespace, query=query), None, limits)
            code = answer.status
            async with answer:
                if code >= 400:
                    raise _refusal(answer, await answer.read())
                try:
                    async for line in answer.content:
                        yield await decode_child_event(line)
                finally:
                    _hang_up(answer)
        except (*_BROKEN, ValueError) as error:
            raise _unreachable(error) from error
        finally:
            self._metrics.requested("WATCH", resource.value[1], code)

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """See `Client.create`; misspelt fields of a pod template are refused, not dropped."""
        query = {"fieldValidation": "Strict"}
        namespace = manifest["metadata"]["namespace"]
        created: Object = await self._request("POST", resource, namespace, query=query, body=manifest)
        return created

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """See `Client.patch`."""
        patched: Object = await self._request("PATCH", resource, namespace, name, body=operations)
        return patched

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        """See `Client.delete`."""
        body: dict[str, object] = {"preconditions": {"resourceVersion": version}, "propagationPolicy": "Background"}
        if force:
            body["gracePeriodSeconds"] = 0
        try:
            left: Object = await self._request("DELETE", resource, namespace, name, body=body)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return left if _is_held(left) else None

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        """See `Client.replace_status`."""
        meta = obj["metadata"]
        written: Object = await self._request("PUT", resource, meta["namespace"], f"{meta['name']}/status", body=obj)
        return written

    async def _request(
        self,
        verb: str,
        resource: Resource,
        namespace: str | None,
        name: str | None = None,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | Sequence[Object] | None = None,
    ) -> Any:
        async def read(answer: aiohttp.ClientResponse) -> Any:
            return await decode(resource, await answer.read())

        return await self._answered(verb, self._url(resource, namespace, name, query=query), body, resource, read)

    async def _answered(
        self,
        verb: str,
        url: str,
        body: Object | Sequence[Object] | None,
        resource: Resource,
        read: Callable[[aiohttp.ClientResponse], Awaitable[T]],
    ) -> T:
        """Sends a request; returns what is read of the answer."""
        code = 0
        limits = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            answer = await self._open(verb, url, body, limits)
            if answer.status >= 400:
                text, code = await answer.read(), answer.status
                raise _refusal(answer, text)
            found, code = await read(answer), answer.status
        except _BROKEN as error:
            raise _unreachable(error) from error
        except ValueError as error:  # a proxy, or the login page of one
            raise ApiError(0, "Unreachable", "the API server cannot be reached: what answers is none") from error
        else:
            return found
        finally:
            self._metrics.requested(verb, resource.value[1], code)

    def _url(
        self,
        resource: Resource,
        namespace: str | None,
        name: str | None = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> str:
        url: str = self._transport.configuration.host + _path(resource, namespace, name)
        return f"{url}?{urlencode(query)}" if query else url

    async def _open(
        self, verb: str, url: str, body: Object | Sequence[Object] | None, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Sends a request; returns the answer when its headers are there."""
        content = "application/json-patch+json" if verb == "PATCH" else "application/json"
        headers = {"Accept": "application/json", "Content-Type": content, "User-Agent": USER_AGENT}
        # Applies the credentials that fit the configuration: a token that expires is renewed here.
        await self._transport.update_params_for_auth(headers, [], ["BearerToken"], url, verb, body)
        sent = self._clock.steady()
        rest = self._transport.rest_client
        answer: aiohttp.ClientResponse = (
            await rest.request(verb, url, headers=headers, body=body, _request_timeout=limits)
        ).response
        self._update_clock(answer.status, answer.headers, sent)
        return answer

    def _update_clock(self, code: int, headers: Mapping[str, str], sent: float) -> None:
        """Uses only the server's own time: a refusal may be a proxy's, and what has an age comes from a cache."""
        if code < 400 and "Age" not in headers:
            self._clock.update(headers.get("Date", ""), sent)


def _is_held(left: Object) -> bool:
    """Whether what a deletion left is still there: a node or a finalizer holds it.

    An object that was deleted at once is returned as it was, or with a grace period of 0, or as a Status without name.
    """
    meta = left.get("metadata", {})
    return "deletionTimestamp" in meta and bool(meta.get("deletionGracePeriodSeconds") or meta.get("finalizers"))


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """Closes the connection of an answer that is not at its end, without a goodbye.

    With TLS, a goodbye waits for that of the server, and aiohttp loses sight of the connection meanwhile.
    """
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _unreachable(error: Exception) -> ApiError:
    return ApiError(0, "Unreachable", f"the API server cannot be reached: {str(error) or 'timeout'}")


def _refusal(answer: aiohttp.ClientResponse, text: bytes) -> ApiError:
    refusal = _parsed(text)
    why = refusal.get("message", f"HTTP {answer.status}")
    return ApiError(answer.status, refusal.get("reason", ""), why, retry_after=_pause(answer.headers))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = json.loads(text) if text else {}
    except ValueError:
        return {"message": text.decode(errors="replace")[:200]}
    return parsed


def _pause(headers: Mapping[str, str]) -> float:
    """Returns for how many seconds the server asks for no further request; kube-apiserver names no dates."""
    seconds = headers.get("Retry-After", "")
    return float(seconds) if seconds.isdecimal() else 0.0


def _path(resource: Resource, namespace: str | None, name: str | None) -> str:
    base, plural = resource.value
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{base}{scope}/{plural}" + (f"/{name}" if name else "")
