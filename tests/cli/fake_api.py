"""An API server of a few verbs, on a port of this machine: what it has, what it was asked, and what it refuses."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml

__all__ = ["JOBS", "MAPS", "PODS", "FakeApi", "bucket_with", "fake_api", "use_kubeconfig"]

JOBS, MAPS, PODS = "quantumtrainingjobs", "configmaps", "pods"
Objects = Mapping[str, tuple[int, bytes]]
"""Code and body of the answer, by /BUCKET/o/NAME."""
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PIECE = 30_000


@dataclass
class FakeApi:
    """What it has and what it was asked.

    Attributes:
        objects: What it has, by plural and name; there is one namespace at a time.
        asked: Verb, plural and whether it was a dry run, of each request that would write.
        refusals: Code and message, by the same; a command in a pod is a GET of `exec`.
        pod_status: The status of each pod, from its creation on.
    """

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    refusals: dict[tuple[str, str, bool], tuple[int, str]] = field(default_factory=dict)
    pod_status: dict[str, Any] = field(default_factory=lambda: {"phase": "Running"})
    uids: int = 0

    @property
    def names(self) -> list[tuple[str, str]]:
        return sorted(self.objects)

    def answer(self, verb: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, dict[str, Any]]:
        """The code and the object that answer a request."""
        _, _, rest = path.partition("/namespaces/")
        namespace, plural, name = (*rest.removesuffix("/exec").split("/"), "")[:3]
        plural = "exec" if path.endswith("/exec") else plural
        is_dry = "dryRun" in query
        if verb != "GET":
            self.asked.append((verb, plural, is_dry))
        if refusal := self.refusals.get((verb, plural, is_dry)):
            return _status(*refusal)
        if verb in {"GET", "DELETE"}:
            return self._kept(plural, name) if verb == "GET" else self._deleted(plural, name, body, is_dry=is_dry)
        return self._written(verb, (plural, name or body["metadata"]["name"]), namespace, body, is_dry=is_dry)

    def _kept(self, plural: str, name: str) -> tuple[int, dict[str, Any]]:
        if not name:
            return 200, {"metadata": {}, "items": [obj for (kind, _), obj in self.objects.items() if kind == plural]}
        there = self.objects.get((plural, name))
        return (200, there) if there else _status(404, f'{plural} "{name}" not found')

    def _deleted(self, plural: str, name: str, body: Any, *, is_dry: bool) -> tuple[int, dict[str, Any]]:
        code, there = self._kept(plural, name)
        if code == 200:
            assert body["preconditions"]["uid"] == there["metadata"]["uid"]
            if not is_dry:
                del self.objects[plural, name]
        return code, there

    def _written(
        self, verb: str, key: tuple[str, str], namespace: str, body: Any, *, is_dry: bool
    ) -> tuple[int, dict[str, Any]]:
        there = self.objects.get(key)
        if verb == "POST" and there:
            return _status(409, f'{key[0]} "{key[1]}" already exists')
        made = self._patched(there, body) if isinstance(body, list) else self._stored(there, body, namespace)
        if not is_dry:
            self.objects[key] = made
        return 200, made

    def _stored(self, there: dict[str, Any] | None, body: dict[str, Any], namespace: str) -> dict[str, Any]:
        assert body["metadata"]["namespace"] == namespace
        self.uids += 1
        uid = there["metadata"]["uid"] if there else f"uid-{self.uids}"
        made = {"uid": uid, "resourceVersion": "1", "creationTimestamp": "2030-01-01T12:00:00Z"}
        status = {"status": self.pod_status} if body.get("kind") == "Pod" else {}
        return {**body, **status, "metadata": {**body["metadata"], **made}}

    def _patched(self, there: dict[str, Any] | None, operations: list[Any]) -> dict[str, Any]:
        assert there is not None
        (operation,) = operations
        assert (operation["op"], operation["path"]) == ("add", "/spec/suspend")
        return {**there, "spec": {**there["spec"], "suspend": operation["value"]}}


def _status(code: int, message: str) -> tuple[int, dict[str, Any]]:
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code}


@contextmanager
def fake_api(kubeconfig: Path) -> Iterator[FakeApi]:
    """Serves until the context ends, and writes a kubeconfig whose current namespace is `lab`."""
    api = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            url = urlsplit(self.path)
            if url.path.endswith("/exec") and ("GET", "exec", False) not in api.refusals:
                execute_here(self, parse_qs(url.query)["command"])
                return
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            code, found = api.answer(self.command, url.path, parse_qs(url.query), body)
            text = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_DELETE = _handle

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": address}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me", "namespace": "lab"}}],
        "current-context": "fake",
    }
    kubeconfig.write_text(yaml.safe_dump(config))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use_kubeconfig(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """As in a new process: the library reads the environment when it is imported."""
    monkeypatch.setenv("KUBECONFIG", str(path))
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))


@contextmanager
def bucket_with(objects: Objects) -> Iterator[None]:
    """Serves objects until the context ends, as the bucket of this process."""

    class Bucket(BaseHTTPRequestHandler):
        """Answers downloads as Cloud Storage does."""

        def do_GET(self) -> None:
            place = unquote(self.path.partition("?")[0]).removeprefix("/download/storage/v1/b")
            code, body = objects.get(place, (404, b"none"))
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Bucket)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with patch.dict(os.environ, STORAGE_EMULATOR_HOST=f"http://127.0.0.1:{server.server_port}"):
            yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def execute_here(handler: BaseHTTPRequestHandler, command: Sequence[str]) -> None:
    """Runs a command whose first word is `python`, and answers as the API server does."""
    key = f"{handler.headers['Sec-WebSocket-Key']}{_GUID}".encode()
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
    handler.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode())
    handler.end_headers()
    for message in _messages(command):
        handler.wfile.write(bytes([0x82, 126]) + len(message).to_bytes(2, "big") + message)
    handler.wfile.write(b"\x88\x00")
    handler.close_connection = True


def _messages(command: Sequence[str]) -> Iterator[bytes]:
    assert command[0] == "python"
    ended = subprocess.run([sys.executable, *command[1:]], capture_output=True, check=False)
    for channel, data in ((b"\1", ended.stdout), (b"\2", ended.stderr)):
        for begin in range(0, len(data), _PIECE):
            yield channel + data[begin : begin + _PIECE]
    yield b"\3" + json.dumps(_ended(ended.returncode)).encode()


def _ended(code: int) -> dict[str, Any]:
    if not code:
        return {"status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
