"""The controller's client over the official client's transport.

Only its connection, credentials and retries are used. Objects stay raw JSON: its models cost ten times the parsing,
and drop fields that are newer than they are.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import yaml
from kubernetes.aio import client as kubernetes
from kubernetes.aio import config

from qtj_operator.cluster.agent import USER_AGENT
from qtj_operator.cluster.clock import ServerClock
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.metrics import Metrics

__all__ = ["ApiClient", "connect"]

_TIMEOUT_SECONDS = 15
_PAGE = 500


async def connect(metrics: Metrics) -> "ApiClient":
    """Connects with the pod's service account, or else with the kubeconfig that kubectl would use.

    Raises:
        ApiError: There is neither.
    """
    settings = kubernetes.Configuration()
    try:
        if "KUBECONFIG" not in os.environ and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=settings)
        else:
            await config.load_kube_config(client_configuration=settings)
    except (config.ConfigException, yaml.YAMLError, OSError) as error:
        raise ApiError(0, "NoCluster", f"no cluster to talk to: {_why_not(error)}") from None
    settings.retries = None
    settings.connection_pool_maxsize = 100
    return ApiClient(kubernetes.ApiClient(settings), metrics)


def _why_not(error: Exception) -> str:
    """Says what is wrong with the kubeconfig: the library calls one that is not there invalid."""
    where = os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(Path(each).expanduser().exists() for each in where.split(os.pathsep)):
        return f"there is no file {where}; set KUBECONFIG to your kubeconfig"
    return f"{where} is no usable kubeconfig ({' '.join(str(error).split())}); set KUBECONFIG"


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
            if error.code == 404:  # noqa: PLR2004
                return None
            raise
        return found

    async def list(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> Sequence[Object]:
        """See `Client.list`; read in pages, so that neither side holds a large cluster at once."""
        query = {"limit": str(_PAGE), "labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
        found: list[Object] = []
        while True:
            page = await self._request("GET", resource, namespace, query=query)
            found.extend(page["items"])
            token = page["metadata"].get("continue")
            if not token:
                return found
            query["continue"] = token

    async def create(self, resource: Resource, manifest: Object) -> None:
        """See `Client.create`; misspelt fields of a pod template are refused, not dropped."""
        query = {"fieldValidation": "Strict"}
        await self._request("POST", resource, manifest["metadata"]["namespace"], query=query, body=manifest)

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> None:
        """See `Client.patch`."""
        await self._request("PATCH", resource, namespace, name, body=operations)

    async def delete(self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False) -> None:
        """See `Client.delete`."""
        body: dict[str, object] = {"preconditions": {"resourceVersion": version}, "propagationPolicy": "Background"}
        if force:
            body["gracePeriodSeconds"] = 0
        try:
            await self._request("DELETE", resource, namespace, name, body=body)
        except ApiError as error:
            if error.code != 404:  # noqa: PLR2004
                raise

    async def replace_status(self, resource: Resource, obj: Object) -> None:
        """See `Client.replace_status`."""
        meta = obj["metadata"]
        await self._request("PUT", resource, meta["namespace"], f"{meta['name']}/status", body=obj)

    async def _request(
        self,
        verb: str,
        resource: Resource,
        namespace: str | None,
        name: str | None = None,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | Sequence[Object] | None = None,
    ) -> Any:  # noqa: ANN401  JSON
        url = self._transport.configuration.host + _path(resource, namespace, name)
        if query:
            url += "?" + urlencode(query)
        code = 0
        try:
            code, answer, wait = await self._send(verb, url, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, "Unreachable", f"the API server cannot be reached: {str(error) or 'timeout'}") from error
        finally:
            self._metrics.requested(verb, resource.value[1], code)
        if code >= 400:  # noqa: PLR2004
            said = answer.get("message", f"HTTP {code}")
            raise ApiError(code, answer.get("reason", ""), said, retry_after=wait)
        return answer

    async def _send(
        self, verb: str, url: str, body: Object | Sequence[Object] | None
    ) -> tuple[int, dict[str, Any], float]:
        content = "application/json-patch+json" if verb == "PATCH" else "application/json"
        headers = {"Accept": "application/json", "Content-Type": content, "User-Agent": USER_AGENT}
        # Applies the credentials that fit the configuration: a token that expires is renewed here.
        await self._transport.update_params_for_auth(headers, [], ["BearerToken"], url, verb, body)
        sent = self._clock.steady()
        answer = await self._transport.rest_client.request(
            verb, url, headers=headers, body=body, _request_timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        )
        self._learn(answer.status, answer.headers, sent)
        text = await answer.read()
        try:
            parsed = json.loads(text) if text else {}
        except ValueError:
            parsed = {"message": text.decode(errors="replace")[:200]}
        return answer.status, parsed, _pause(answer.headers)

    def _learn(self, code: int, headers: Mapping[str, str], sent: float) -> None:
        """Heeds the server's own time alone: a refusal may be a proxy's, and what has an age comes from a cache."""
        if code < 400 and "Age" not in headers:  # noqa: PLR2004
            self._clock.told(headers.get("Date", ""), sent)


def _pause(headers: Mapping[str, str]) -> float:
    """Returns for how many seconds the server wants to be left alone; kube-apiserver names no dates."""
    said = headers.get("Retry-After", "")
    return float(said) if said.isdecimal() else 0.0


def _path(resource: Resource, namespace: str | None, name: str | None) -> str:
    base, plural = resource.value
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{base}{scope}/{plural}" + (f"/{name}" if name else "")
