"""A stand-in for a kubelet, as far as the API server asks one for logs.

`GET /containerLogs/NAMESPACE/POD/CONTAINER`, with `follow`, `timestamps` and `sinceTime`: Kubernetes 1.34,
pkg/kubelet/server/server.go (`getContainerLogs`) and pkg/kubelet/kubelet_pods.go (`validateContainerLogStatus`). Times
have nine digits: k8s.io/cri-client 0.34.4, pkg/logs/logs.go (`RFC3339NanoFixed`).
"""

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tools.api_server import ApiServer

__all__ = ["Kubelet", "certificate", "node_of"]

_BEGIN = datetime(2030, 1, 1, 12, tzinfo=UTC)
_WAIT = 0.05


def certificate(folder: Path) -> tuple[Path, Path]:
    """Makes a certificate that nobody has signed, as those of kubelets are; returns it, and its key."""
    key, signed = folder / "kubelet.key", folder / "kubelet.crt"
    subject = ("-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=kubelet", "-days", "1")
    files = ("-keyout", str(key), "-out", str(signed))
    subprocess.run(["openssl", "req", *subject, *files], check=True, capture_output=True)
    return signed, key


@contextmanager
def node_of(server: ApiServer, name: str, port: int) -> Iterator[None]:
    """Makes the API server know a node whose kubelet answers at a port of this machine."""
    server.kubectl("create", "-f", "-", manifest={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    reached = {"addresses": [{"type": "Hostname", "address": "127.0.0.1"}]}
    status = reached | {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    patch = json.dumps({"status": status})
    server.kubectl("patch", "node", name, "--type=merge", "--subresource=status", f"--patch={patch}")
    yield
    server.kubectl("delete", "node", name)


class _Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.has_ended = False


class Kubelet:
    """Logs of pods, by their names.

    Attributes:
        port: Where it answers.
        requests: The path and query of each request.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[str] = []
        self._logs: dict[str, _Log] = {}
        self._changed = threading.Condition()
        self._cut = 0

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator["Kubelet"]:
        """Starts one, which answers by TLS with a certificate that nobody has signed, as kubelets do."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(folder))
        with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
            server.daemon_threads = True
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            kubelet = cls(server.server_address[1])
            server.kubelet = kubelet  # type: ignore[attr-defined]
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield kubelet
            server.shutdown()

    def writes(self, pod: str, *lines: str) -> None:
        """The container of a pod has started, and writes lines."""
        with self._changed:
            log = self._logs.setdefault(pod, _Log())
            for line in lines:
                log.lines.append((_time(len(log.lines)), line))
            self._changed.notify_all()

    def ends(self, pod: str) -> None:
        """The container of a pod has ended."""
        with self._changed:
            self._logs.setdefault(pod, _Log()).has_ended = True
            self._changed.notify_all()

    def deletes(self, pod: str) -> None:
        """The pod is deleted, and its log with it."""
        self.ends(pod)
        with self._changed:
            del self._logs[pod]

    def loses_connections(self) -> None:
        """Everything that is followed ends at once, as when a network fails."""
        with self._changed:
            self._cut += 1
            self._changed.notify_all()

    def is_followed(self, pod: str) -> bool:
        return any(f"/{pod}/" in each and "follow=true" in each for each in self.requests)

    def find(self, pod: str) -> _Log | None:
        with self._changed:
            return self._logs.get(pod)

    def follow(self, log: _Log, position: int) -> Iterator[tuple[str, str]]:
        """Yields the lines of a log as they are written, until it ends."""
        cut = self._cut
        while True:
            with self._changed:
                new, has_ended = log.lines[position:], log.has_ended or self._cut > cut
                if not new and not has_ended:
                    self._changed.wait(_WAIT)
            yield from new
            position += len(new)
            if has_ended and not new:
                return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kubelet: Kubelet = self.server.kubelet  # type: ignore[attr-defined]
        kubelet.requests.append(self.path)
        address = urlsplit(self.path)
        pod, container = address.path.split("/")[3:5]
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        log = kubelet.find(pod)
        if log is None:
            self._refuse(f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating')
            return
        since = query.get("sinceTime", "")[:19]
        first = next((number for number, (time, _) in enumerate(log.lines) if time[:19] >= since), len(log.lines))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            lines = kubelet.follow(log, first) if query.get("follow") == "true" else iter(log.lines[first:])
            for time, line in lines:
                self._chunk(f"{time} {line}\n" if query.get("timestamps") == "true" else f"{line}\n")
            self._chunk("")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _refuse(self, sentence: str) -> None:
        data = sentence.encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


def _time(number: int) -> str:
    """Returns the time of a line: four lines are written in a second."""
    moment = _BEGIN + timedelta(seconds=number / 4)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}{number % 1000:03d}Z"
