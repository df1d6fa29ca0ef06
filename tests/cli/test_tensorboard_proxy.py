"""Whether TensorBoard answers on this machine, with a proxy in the environment."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from qtj.tensorboard.child import answers
from tools.background import free_port


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()

    def log_request(self, code: object = None, size: object = None) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    """A server that answers."""
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment asks for the proxy everywhere."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_proxy_is_not_asked_for_this_machine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")

    assert answers(address)


def test_the_answer_of_a_proxy_is_not_that_of_this_machine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", address)

    assert not answers(f"http://127.0.0.1:{free_port()}/")
