"""A real browser, Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright

__all__ = ["DESKTOP", "OUTPUT", "PHONE", "Complaint", "Screen", "browser", "find_program", "opened", "screenshot"]

OUTPUT = Path(__file__).parents[2] / "test-output"
"""Where screenshots are kept; git ignores it."""
_PROGRAMS = ("chromium", "google-chrome", "chromium-browser")
_OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
_HERE = ("127.0.0.1", "localhost")
_STARTS_WITHIN = 180_000
_WAITS = 60_000
"""Milliseconds. A machine that is busy with other tests is no defect of a page."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The size of a window.

    Attributes:
        width: In CSS pixels.
        height: In CSS pixels.
    """

    width: int
    height: int


DESKTOP = Screen(1280, 800)
PHONE = Screen(390, 844)


class Complaint(AssertionError):
    """A page has asked for an external address, or has logged an error."""


def find_program() -> str | None:
    """Returns the path of the browser; None if there is none."""
    return next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Starts a browser without a window, for which no host but this machine has an address.

    Raises:
        FileNotFoundError: No browser is installed.
    """
    program = find_program()
    if program is None:
        raise FileNotFoundError("there is no browser: apt-get install chromium")
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=program, args=[_OFFLINE], timeout=_STARTS_WITHIN) as started,
    ):
        yield started


@contextmanager
def opened(
    within: Browser, address: str, screen: Screen = DESKTOP, *, dark: bool = False, tolerated: Sequence[str] = ()
) -> Iterator[Page]:
    """Opens an address, and checks when the caller is done that the page had nothing to complain about.

    Args:
        within: The browser.
        address: What to open.
        screen: The size of the window.
        dark: Whether the reader prefers dark pages.
        tolerated: The beginnings of external addresses that the page may ask for, without an answer, and of scripts
            that may log errors.

    Raises:
        Complaint: The page has asked for another external address, or has logged an error.
    """
    size, scheme = {"width": screen.width, "height": screen.height}, "dark" if dark else "light"
    with within.new_context(viewport=size, color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(_WAITS)
        watch = _Watch(tuple(tolerated))
        page.on("request", watch.asked)
        page.on("console", watch.logged)
        page.on("pageerror", watch.failed)
        page.goto(address)
        yield page
        watch.check()


def screenshot(page: Page, name: str, *, whole: bool = True) -> Path:
    """Stores what the page shows among the output of the tests; returns where.

    Args:
        page: The page.
        name: The name of the file, without its ending.
        whole: Whether the parts below the window are in the picture.
    """
    path = OUTPUT / f"{name}.png"
    page.screenshot(path=path, full_page=whole, animations="disabled")
    return path


@dataclass
class _Watch:
    """Everything that a page should not do."""

    tolerated: tuple[str, ...]
    complaints: list[str] = field(default_factory=list)

    def asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and address.hostname not in _HERE:
            self._complain(f"asks for {request.url}", request.url)

    def logged(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(f"logs: {message.text} ({message.location['url']})", message.location["url"])

    def failed(self, error: Error) -> None:
        self._complain(f"fails: {error}", "")

    def check(self) -> None:
        if self.complaints:
            raise Complaint("\n".join(dict.fromkeys(self.complaints)))

    def _complain(self, sentence: str, address: str) -> None:
        if not address.startswith(self.tolerated or "\0"):
            self.complaints.append(sentence)
