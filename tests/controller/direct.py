"""Requests to an API server without kubectl, each start of which takes a tenth of a second of processor time."""

import json
import ssl
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.error import HTTPError

__all__ = ["Direct", "unverified"]

_JOBS = ("apis/quantumtraining.dev/v1beta1", "quantumtrainingjobs")
_RESOURCES = {
    "qtj": _JOBS,
    "pod": ("api/v1", "pods"),
    "pods": ("api/v1", "pods"),
    "service": ("api/v1", "services"),
    "configmaps": ("api/v1", "configmaps"),
    "deployment": ("apis/apps/v1", "deployments"),
    "deployments": ("apis/apps/v1", "deployments"),
}
"""What tests ask for often, and where an API server has it."""
_CREATED = {
    "QuantumTrainingJob": "quantumtrainingjobs",
    "Pod": "pods",
    "Event": "events",
    "Namespace": "namespaces",
}
_MANAGED = "--show-managed-fields"


class Direct:
    """What kubectl would ask an API server for.

    Args:
        url: Where the server is.
        token: That of an administrator.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def get(self, words: Sequence[str]) -> dict[str, Any] | None:
        """Returns what `kubectl get` would with these words; None where only kubectl knows."""
        match [word for word in words if word != _MANAGED]:
            case [resource, "-n", namespace] if resource in _RESOURCES:
                name = ""
            case [resource, name, "-n", namespace] if resource in _RESOURCES:
                name = f"/{name}"
            case _:
                return None
        group, plural = _RESOURCES[resource]
        try:
            found = self._send("GET", f"{group}/namespaces/{namespace}/{plural}{name}")
        except HTTPError:
            return None  # kubectl says why
        kind = {"kind": found["kind"].removesuffix("List"), "apiVersion": found["apiVersion"]}
        if not name:
            found["items"] = [{**kind, **item} for item in found["items"]]
        for item in [found] if name else found["items"]:
            if _MANAGED not in words:
                item["metadata"].pop("managedFields", None)
        return found

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """Creates an object; returns False where only kubectl can say why not."""
        if manifest["kind"] not in _CREATED:
            return False
        version, namespace = manifest["apiVersion"], manifest["metadata"].get("namespace")
        folder = f"{'apis' if '/' in version else 'api'}/{version}" + (f"/namespaces/{namespace}" if namespace else "")
        query = "fieldManager=kubectl-create&fieldValidation=Strict"
        try:
            self._send("POST", f"{folder}/{_CREATED[manifest['kind']]}?{query}", manifest)
        except HTTPError:
            return False
        return True

    def set_status(self, resource: str, namespace: str, name: str, status: Mapping[str, object]) -> bool:
        """Changes a status; returns False where only kubectl can say why not."""
        if resource not in _RESOURCES:
            return False
        group, plural = _RESOURCES[resource]
        path = f"{group}/namespaces/{namespace}/{plural}/{name}/status?fieldManager=kubectl-patch"
        try:
            self._send("PATCH", path, {"status": status})
        except HTTPError:
            return False
        return True

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(
            f"{self._url}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": kind},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60, context=unverified()) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@cache
def unverified() -> ssl.SSLContext:
    """Returns what accepts the certificate that an API server has made for itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
