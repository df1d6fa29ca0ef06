"""An admission webhook of ours on this machine: it mutates what it is sent, or denies it without a code."""

import base64
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MUTATE, DENY = "/mutate", "/deny"
LABEL = "mesh.example.com/injected"
PROTOCOL = "mesh.example.com/tensor"
DENIAL = "the image verifier has no answer yet"

Manifest = dict[str, Any]


class Webhook:
    """What it is reached by, and what it was asked.

    Attributes:
        writes: Operation, kind and name of each request that was no dry run.
    """

    def __init__(self, port: int, certificate: bytes) -> None:
        self._url = f"https://127.0.0.1:{port}"
        self._bundle = base64.b64encode(certificate).decode()
        self.writes: list[tuple[str, str, str]] = []

    def at(self, path: str) -> Manifest:
        """Returns the `clientConfig` of a webhook that is answered by this path."""
        return {"url": self._url + path, "caBundle": self._bundle}

    def answer(self, path: str, review: Manifest) -> Manifest:
        """Returns the answer to a review."""
        request = review["request"]
        if not request.get("dryRun"):
            self.writes.append((request["operation"], request["kind"]["kind"], request["name"]))
        response = {"uid": request["uid"], "allowed": path == MUTATE}
        if path == MUTATE:
            patch = json.dumps(_mutations(request["object"])).encode()
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
        else:
            response |= {"status": {"message": DENIAL}}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Serves while the context lasts."""
    with TemporaryDirectory(prefix="qtj-e2e-") as folder:
        certificate, context = _identity(Path(folder))
        with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
            hook = Webhook(server.server_port, certificate)
            server.RequestHandlerClass = partial(_Handler, hook)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield hook
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hook: Webhook, *args: Any) -> None:
        self._hook = hook
        super().__init__(*args)

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self._hook.answer(self.path.partition("?")[0], review)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Says nothing: the scenarios read `writes`."""


def _mutations(written: Manifest) -> list[Manifest]:
    """Returns what a service mesh adds: a protocol to the ports of a Service, a label to a pod."""
    if written["kind"] == "Service":
        ports = enumerate(written["spec"]["ports"])
        return [{"op": "add", "path": f"/spec/ports/{at}/appProtocol", "value": PROTOCOL} for at, _ in ports]
    return [{"op": "add", "path": f"/metadata/labels/{LABEL.replace('/', '~1')}", "value": "true"}]


def _identity(folder: Path) -> tuple[bytes, ssl.SSLContext]:
    """Makes a certificate that vouches for itself."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=webhook", "-addext", "subjectAltName=IP:127.0.0.1")
    command = ("openssl", "req", "-x509", *curve, *names, "-keyout", key, "-out", certificate)
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate.read_bytes(), context
