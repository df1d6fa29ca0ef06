"""The charts of a training: loss, accuracy and other numbers over the epochs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from qtj_contract.progress_log import EpochRecord
from qtj_report.chart import Chart, Curve, Mark, curve_chart
from qtj_report.element import node, table
from qtj_report.predictions import is_drawable
from qtj_report.wording import number

__all__ = ["Quantity", "charts_by_set", "curve_of", "epoch_table", "quantities_of", "training_charts"]

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
