"""Servers in the place of MLflow that fail in one way each."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["answering", "hanging"]


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class _Server(ThreadingHTTPServer):
    """Answers all requests alike.

    Attributes:
        answer: The status, the headers and the body.
        asked: The paths of the requests, with what they were authorized by.
    """

    daemon_threads = True
    answer: tuple[int, dict[str, str], str]
    asked: list[tuple[str, str]]

    @property
    def tokens(self) -> set[str]:
        """What the requests were authorized by."""
        return {token for _, token in self.asked}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def answering(status: int, body: str = "", **headers: str) -> Iterator[_Server]:
    """A server with one answer for everything."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.answer, server.asked = (status, headers, body), []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def hanging() -> Iterator[str]:
    """A server that takes every connection, and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
