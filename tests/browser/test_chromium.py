"""The browser of these tests: it reaches this machine alone, and notices what a page does wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import PHONE, Complaint, browser, opened

EXTERNAL = "https://example.com/"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Leaves the output of the tests alone."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def page(folder: Path, body: str) -> str:
    """Writes a page; returns its address."""
    (folder / "page.html").write_text(f"<!DOCTYPE html><html><head><link rel=icon href=data:,></head>{body}")
    return (folder / "page.html").as_uri()


def complaints(browser: Browser, address: str, *tolerated: str) -> str:
    """What the browser complains about when it opens an address and has loaded everything."""
    try:
        with opened(browser, address, tolerated=tolerated) as found:
            found.wait_for_load_state("networkidle")
    except Complaint as complaint:
        return str(complaint)
    return ""


def test_a_page_of_this_machine_is_shown(browser: Browser, tmp_path: Path) -> None:
    page(tmp_path, "<p>here</p>")

    with served(tmp_path) as address, opened(browser, f"{address}page.html") as found:
        assert found.inner_text("p") == "here"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('no data')</script>", "logs: no data"),
        ("<script>throw new Error('no such name')</script>", "fails: no such name"),
        (f"<img src='{EXTERNAL}x.png'>", f"asks for {EXTERNAL}x.png"),
        ("<img src='http://192.0.2.1/x.png'>", "asks for http://192.0.2.1/x.png"),
        ("<img src='missing.png'>", "logs: Failed to load resource"),
    ],
)
def test_what_a_page_does_wrong_is_an_error(browser: Browser, tmp_path: Path, body: str, complaint: str) -> None:
    assert complaint in complaints(browser, page(tmp_path, body))


def test_an_external_address_that_is_expected_is_no_error_and_gets_no_answer(browser: Browser, tmp_path: Path) -> None:
    address = page(tmp_path, f"<img src='{EXTERNAL}x.png'>")

    assert complaints(browser, address, EXTERNAL) == ""
    assert complaints(browser, address) == (
        f"asks for {EXTERNAL}x.png\nlogs: Failed to load resource: net::ERR_NAME_NOT_RESOLVED ({EXTERNAL}x.png)"
    )


def test_a_page_sees_the_size_and_the_colours_that_its_reader_has(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page(tmp_path, ""), PHONE, dark=True) as found:
        assert found.evaluate("[innerWidth, innerHeight]") == [390, 844]
        assert found.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


def test_without_a_browser_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(FileNotFoundError, match="apt-get install chromium"), browser():
        pass
