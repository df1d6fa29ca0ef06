"""The report of a run in a browser: nothing is cut off or hard to read, on any screen and on paper."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import DESKTOP, OUTPUT, PHONE, Screen, opened, screenshot
from tests.browser.recorded_runs import comparison_page, hard_page, long_numbers_page, preempted_page, regression_page

LOOK = (Path(__file__).parent / "look.js").read_text()
SCREENS = {"desktop": DESKTOP, "phone": PHONE}
PAGES = {
    "report": hard_page,
    "preempted": preempted_page,
    "regression": regression_page,
    "comparison": comparison_page,
    "long-numbers": long_numbers_page,
}
PAPER = Screen(680, 960)
"""A4 within margins of 15 mm."""

Write = Callable[[Path], Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wrong(page: Page) -> list[str]:
    """What a reader would find wrong with the look of a page."""
    found: list[str] = page.evaluate(LOOK)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("kind", PAGES)
def test_everything_on_a_page_can_be_read(browser: Browser, folder: Path, kind: str, screen: str, scheme: str) -> None:
    address = PAGES[kind](folder).as_uri()

    with opened(browser, address, SCREENS[screen], dark=scheme == "dark") as page:
        screenshot(page, f"{kind}-{screen}-{scheme}")

        assert wrong(page) == []


@pytest.mark.parametrize("kind", PAGES)
def test_a_printed_page_has_every_section_and_nothing_is_cut_off(browser: Browser, folder: Path, kind: str) -> None:
    with opened(browser, PAGES[kind](folder).as_uri(), PAPER, dark=True) as page:
        sections = page.locator("h2").all_inner_texts()
        paper = page.pdf(path=OUTPUT / f"{kind}.pdf", format="A4")
        page.emulate_media(media="print")

        assert wrong(page) == []
        assert page.locator("h2:visible").all_inner_texts() == sections
        assert page.evaluate(WIDER) == []
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert 1 <= len(re.findall(rb"/Type /Page\b", paper)) <= 6


WIDER = """() => [...document.querySelectorAll("pre, .scrolled")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent.slice(0, 40))"""
"""What can be scrolled on a screen, and does not fit on paper."""


def test_a_message_is_below_the_facts_of_its_row_on_a_phone(browser: Browser, folder: Path) -> None:
    with opened(browser, hard_page(folder).as_uri(), PHONE) as page:
        row = page.locator("tr", has_text="own-worker-2").last
        cells = row.locator("th, td")
        boxes = [cells.nth(place).bounding_box() for place in range(cells.count())]

    first, *_, last = [box for box in boxes if box]
    assert last["y"] >= first["y"] + first["height"] - 1
    assert last["width"] > 0.75 * PHONE.width
    assert last["x"] + last["width"] <= PHONE.width


def test_the_numbers_of_each_epoch_open_with_a_click(browser: Browser, folder: Path) -> None:
    with opened(browser, hard_page(folder).as_uri(), PHONE) as page:
        assert not page.get_by_text("Accuracy, held-out set").is_visible()
        page.get_by_text("Numbers of each epoch").click()

        assert page.get_by_text("Accuracy, held-out set").is_visible()
        assert wrong(page) == []
