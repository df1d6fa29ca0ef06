"""Charts as a picture: one file of SVG, which needs no other file."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element, tostring

from qtj_contract.predictions import Predictions
from qtj_report.chart import HEIGHT, WIDTH, Chart, matrix_chart, scatter_chart
from qtj_report.content import Content
from qtj_report.curves import training_charts
from qtj_report.element import node, picture_style
from qtj_report.predictions import LISTED_CLASSES, confusion, drawable_pairs, errors_of, finite_pairs
from qtj_report.wording import number

__all__ = ["picture", "report_charts", "report_picture"]

_HEAD, _CAPTION, _GAP = 40, 50, 24
"""Heights of the title of a picture and of the title and legend of a chart, and the space between charts."""
_LETTER, _SAMPLE = 7.5, 30
"""Widths of a letter, and of a sample of a curve with its space, in a legend."""


def report_picture(found: Content) -> str | None:
    """Draws what a page draws: loss, accuracy and predictions; None if there is nothing to draw."""
    charts = report_charts(found)
    return picture(f"{found.title} ({found.phase})", charts) if charts else None


def report_charts(found: Content) -> Sequence[Chart]:
    """Returns the charts of a report, each only if there are data for it."""
    return [*training_charts(found.epochs), *_predictions_chart(found.predictions)]


def picture(title: str, charts: Sequence[Chart]) -> str:
    """Draws charts side by side; there is at least one."""
    width, height = len(charts) * (WIDTH + _GAP), _HEAD + _CAPTION + HEIGHT + _GAP // 2
    panels = [node("g", *_panel(each), transform=f"translate({_GAP // 2 + place * (WIDTH + _GAP)} {_HEAD})")
              for place, each in enumerate(charts)]  # fmt: skip
    root = node(
        "svg",
        node("title", title),
        node("style", picture_style() + "text { font-family: system-ui, sans-serif; }"),
        node("rect", width=width, height=height, fill="#ffffff"),
        node("text", title, x=width / 2, y=26, text_anchor="middle", style="font-size: 18px; fill: #1c2128"),
        *panels,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
    return tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _predictions_chart(found: Predictions | None) -> Iterator[Chart]:
    drawn = drawable_pairs(found)
    if not found or not drawn:
        return
    if not found.classes:
        error = errors_of(drawn).root_mean_square
        yield scatter_chart(f"Predictions: root mean square error {number(error)}", drawn)
        return
    right = sum(label == predicted for label, predicted in finite_pairs(found))
    title = f"Predictions: {right} of {len(found.labels)} right"
    if len(found.classes) > LISTED_CLASSES:
        yield scatter_chart(title, drawn)
    else:
        yield matrix_chart(title, found.classes, confusion(found))


def _panel(chart: Chart) -> Iterator[Element]:
    yield node("text", chart.title, x=WIDTH / 2, y=18, text_anchor="middle", style="font-weight: 600; fill: #1c2128")
    widths = [_LETTER * len(entry.text) + _SAMPLE + _GAP for entry in chart.legend]
    for x, entry in zip(accumulate(widths, initial=60.0), chart.legend, strict=False):
        place = f"translate({x:.0f} 31)"
        yield node("g", *entry.sample, node("text", entry.text, x=_SAMPLE if entry.sample else 0, y=9), transform=place)
    yield node("g", *chart.shapes, transform=f"translate(0 {_CAPTION})")
