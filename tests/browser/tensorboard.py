"""The pages of TensorBoard, as a user reads them: curves, histograms, options, and profiles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Browser, Frame, FrameLocator, Page

from tests.browser.chromium import opened, screenshot

__all__ = ["Point", "TensorBoard"]

_EXTERNAL = ("https://www.gstatic.", "https://fonts.googleapis.com/", "https://fonts.gstatic.com/")
"""What the pages of xprof ask for: charts and a font. Without an answer, tables and traces are still shown."""
_CELLS = """contents => contents.filter(content => content.assignedSlot).map(content => {
  const cell = content.assignedSlot.parentElement, box = cell.getBoundingClientRect();
  return [cell.localName, content.innerText.trim(), Math.round(box.x), Math.round(box.y)];
})"""
"""Name of the element, text, and place of each cell: their order in the document is another one."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve.

    Attributes:
        step: Its optimizer step.
        value: Its value, with the digits that TensorBoard shows.
    """

    step: int
    value: float


class TensorBoard:
    """A TensorBoard that serves the runs of a job.

    Each method opens a page, reads it, and stores a screenshot among the output of the tests.
    """

    def __init__(self, browser: Browser, address: str) -> None:
        """Names the browser, and the address with a slash at its end."""
        self._browser, self._address = browser, address

    def last_point(self, tag: str, run: str) -> Point:
        """Returns the last point of a curve, from the table below it.

        Args:
            tag: The name of the curve, such as `loss`.
            run: How the name of its run ends, such as `/train`.
        """
        with self._page("timeseries", tag) as page:
            card = page.locator("scalar-card")
            rows = card.locator("tb-data-table-content-row")
            row = rows.filter(has=page.locator("tb-data-table-content-cell", has_text=re.compile(f"{run}\\s*$")))
            row.wait_for()
            names = card.locator("tb-data-table-header-cell").all_inner_texts()
            cells = row.locator("tb-data-table-content-cell").all_inner_texts()
            screenshot(page, f"tensorboard-{tag}", whole=False)
        values = dict(zip((each.strip() for each in names), (each.strip() for each in cells), strict=True))
        return Point(int(values["Step"].replace(",", "")), float(values["Value"].replace(",", "")))

    def histogram(self, tag: str) -> int:
        """Returns how many histograms over the steps are drawn for a tag."""
        with self._page("histograms", tag) as page:
            chart = page.locator("tf-histogram-loader", has=page.get_by_text(f"tag: {tag}"))
            histograms = chart.locator(".histogram")
            histograms.first.wait_for()
            screenshot(page, "tensorboard-histograms", whole=False)
            return histograms.count()

    def options(self) -> Sequence[Mapping[str, str]]:
        """Returns the rows of the table of hyperparameters, each with the columns that TensorBoard shows first."""
        with self._page("hparams") as page:
            grid = page.locator("vaadin-grid-cell-content")
            grid.filter(has_text="/").first.wait_for()
            screenshot(page, "tensorboard-hparams", whole=False)
            cells: list[tuple[str, str, int, int]] = grid.evaluate_all(_CELLS)
        names = {x: text for kind, text, x, _ in cells if kind == "th" and text}
        rows: dict[int, dict[str, str]] = {}
        for kind, text, x, y in cells:
            if kind == "td" and text and x in names:
                rows.setdefault(y, {})[names[x]] = text
        return [row for _, row in sorted(rows.items())]

    def overview(self) -> str:
        """Returns the text of the overview page of the last profile."""
        with self._page("profile") as page, _plugin(page) as plugin:
            plugin.get_by_text("Device type: CPU").wait_for()
            screenshot(page, "tensorboard-profile", whole=False)
            return plugin.locator("body").inner_text()

    def traced(self) -> Sequence[str]:
        """Returns the hosts of the last profile, each as its row of the trace viewer names it."""
        with self._page("profile") as page, _plugin(page) as plugin:
            plugin.get_by_text("Run Environment").wait_for()
            plugin.locator("mat-select", has_text="Overview Page").click()
            plugin.locator("mat-option", has_text="Trace Viewer").first.click()
            _await_trace(page, 1)
            plugin.get_by_text("menu", exact=True).click()
            plugin.locator("mat-select[multiple]").click()
            hosts = plugin.locator("mat-option").count()
            if hosts > 1:
                plugin.get_by_text("Select All Hosts").click()
                plugin.get_by_text("Apply Host Selection").click()
            rows = _await_trace(page, hosts)
            screenshot(page, "tensorboard-trace", whole=False)
            return rows

    @contextmanager
    def _page(self, tab: str, tag: str = "") -> Iterator[Page]:
        """Opens a page, if a tag is named with nothing of any other tag."""
        query = f"?tagFilter={quote(f'^{tag}$')}" if tag else ""
        tolerated = (*_EXTERNAL, f"{self._address}data/plugin/profile/")
        filtered = f"&tagFilter={quote(f'^{tag}$')}" if tag else ""
        with opened(self._browser, f"{self._address}{query}#{tab}{filtered}", tolerated=tolerated) as page:
            yield page


@contextmanager
def _plugin(page: Page) -> Iterator[FrameLocator]:
    """The part of the page that xprof fills."""
    yield page.frame_locator("iframe")


def _await_trace(page: Page, hosts: int) -> Sequence[str]:
    """Returns the names of the processes in the trace viewer, as soon as there is one for each host."""
    frame = _trace_viewer(page)
    frame.wait_for_function("hosts => document.body?.innerText.split('/host:CPU').length > hosts", arg=hosts)
    return re.findall(r"^(\S+) /host:CPU", frame.evaluate("document.body.innerText"), re.MULTILINE)


def _trace_viewer(page: Page) -> Frame:
    """Returns the frame of the trace viewer, whose elements Playwright's selectors cannot read."""
    element = page.frame_locator("iframe").locator("iframe").element_handle()
    frame = element.content_frame()
    assert frame is not None, "the trace viewer is no frame"
    return frame
