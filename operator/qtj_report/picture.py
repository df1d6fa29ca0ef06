"""The charts of a training, a table of their numbers, and charts as one file of SVG, which needs no other."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from xml.etree.ElementTree import Element, tostring

from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import EpochRecord
from qtj_report.chart import HEIGHT, WIDTH, Chart, Curve, Mark, curve_chart, matrix_chart, scatter_chart
from qtj_report.content import Content
from qtj_report.element import node, picture_style, table
from qtj_report.predictions import LISTED_CLASSES, confusion, drawable_pairs, errors_of, finite_pairs, is_drawable
from qtj_report.wording import number

__all__ = [
    "Quantity",
    "charts_by_set",
    "curve_of",
    "epoch_table",
    "picture",
    "report_charts",
    "report_picture",
    "training_charts",
]

_HEAD, _CAPTION, _GAP = 40, 50, 24
"""Heights of the title of a picture and of the title and legend of a chart, and the space between charts."""
_LETTER, _SAMPLE = 7.5, 30
"""Widths of a letter, and of a sample of a curve with its space, in a legend."""
Quantity = Callable[[EpochRecord], float | None]

QUANTITIES: dict[str, dict[str, Quantity]] = {
    "Loss": {
        "training set": lambda each: each.loss,
        "held-out set": lambda each: each.validation_loss,
    },
    "Accuracy": {
        "training set": lambda each: each.training_accuracy,
        "held-out set": lambda each: each.accuracy,
    },
}
"""The quantities that every training may have, and the set of examples of each."""

_HELD_OUT = "val_"
_LISTED_EPOCHS = 200


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


def quantities_of(epochs: Sequence[EpochRecord]) -> dict[str, dict[str, Quantity]]:
    """Returns the quantities of these epochs: loss, accuracy, and every other number that the program has reported."""
    names = dict.fromkeys(name.removeprefix(_HELD_OUT) for each in epochs for name in each.scores)
    others = {
        name: {"training set": _score(name), "held-out set": _score(f"{_HELD_OUT}{name}")} for name in names if name
    }
    return {**QUANTITIES, **{name: sets for name, sets in others.items() if name not in QUANTITIES}}


def _score(name: str) -> Quantity:
    return lambda each: each.scores.get(name)


def training_charts(epochs: Sequence[EpochRecord]) -> Iterator[Chart]:
    """Yields a chart for each quantity that was recorded."""
    marks = [
        Mark(after.number - 0.5, f"attempt {after.attempt}")
        for before, after in pairwise(epochs)
        if after.attempt != before.attempt
    ]
    for title, sets in quantities_of(epochs).items():
        curves = [curve_of(name, epochs, value, color) for color, (name, value) in enumerate(sets.items())]
        if drawn := [curve for curve in curves if curve.known]:
            yield curve_chart(title, drawn, marks)


def charts_by_set(epochs: Sequence[EpochRecord], curves: Callable[[Quantity], Sequence[Curve]]) -> Iterator[Chart]:
    """Yields a chart for each quantity of these epochs and each set of examples, of the curves that have a point."""
    for title, sets in quantities_of(epochs).items():
        for name, value in sets.items():
            if drawn := [curve for curve in curves(value) if curve.known]:
                yield curve_chart(f"{title}, {name}", drawn)


def curve_of(name: str, epochs: Sequence[EpochRecord], value: Quantity, color: int) -> Curve:
    """Returns a curve; a number that is not finite, or too large for an axis, is a gap."""
    points = [(each.number, value(each)) for each in epochs]
    return Curve(name, [(epoch, known if is_drawable(known) else None) for epoch, known in points], color)


def epoch_table(epochs: Sequence[EpochRecord]) -> Element:
    """Returns a folded table of the epochs. If there are very many, it has every n-th one, and always the last."""
    step = -(-len(epochs) // _LISTED_EPOCHS)
    shown = epochs[::-1][::step][::-1]
    columns = [
        (f"{title}, {name}", value) for title, sets in quantities_of(epochs).items() for name, value in sets.items()
    ]
    known = [column for column in columns if any(column[1](each) is not None for each in epochs)]
    rows = [[str(each.number), *(number(value(each)) for _, value in known)] for each in shown]
    headings = ["Epoch", *(name for name, _ in known)]
    return node(
        "details",
        node("summary", "Numbers of each epoch" if step == 1 else f"Numbers of every {step} epochs"),
        table(headings, rows, numbers=range(1, len(headings))),
    )
