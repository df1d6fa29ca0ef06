"""Predictions against labels: a confusion matrix of few classes, else a chart of points."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from qtj_contract.predictions import Predictions
from qtj_report.chart import scatter_chart
from qtj_report.element import node
from qtj_report.parts import section
from qtj_report.scores import LISTED_CLASSES, confusion, drawable_pairs, errors_of, finite_pairs
from qtj_report.wording import number, share

__all__ = ["predictions_section"]

_STRONGEST = 0.4
"""Opacity of the colour behind the largest number: the number stays easy to read."""


def predictions_section(found: Predictions) -> Element:
    """Returns the section; there is at least one finite prediction."""
    pairs = finite_pairs(found)
    stored = len(found.labels)
    which = f"the first {stored} of {found.examples}" if found.examples > stored else str(stored)
    lost = f" {stored - len(pairs)} predictions are not finite." if len(pairs) < stored else ""
    summary = _class_summary(pairs, which) if found.classes else _regression_summary(pairs, which)
    drawn = drawable_pairs(found)
    if found.classes and len(found.classes) <= LISTED_CLASSES:
        picture: Element | None = _confusion_table(found)
    else:
        picture = scatter_chart("Class numbers" if found.classes else "Predictions", drawn).figure if drawn else None
    return section("Predictions", node("p", summary + lost), picture)


def _class_summary(pairs: Sequence[tuple[float, float]], which: str) -> str:
    right = sum(label == predicted for label, predicted in pairs)
    return f"{right} of {which} held-out examples are in the right class ({share(right / len(pairs))})."


def _regression_summary(pairs: Sequence[tuple[float, float]], which: str) -> str:
    errors = errors_of(pairs)
    determined = "" if errors.determination is None else f", R² {number(errors.determination)}"
    root, mean = number(errors.root_mean_square), number(errors.mean_absolute)
    return f"{which} held-out examples: root mean square error {root}, mean absolute error {mean}{determined}."


def _confusion_table(found: Predictions) -> Element:
    counts = confusion(found)
    names = found.classes
    groups = node("tr", node("td"), node("th", "predicted class", scope="colgroup", colspan=len(names)), node("td"))
    head = node(
        "tr",
        node("th", "label", scope="col"),
        *(node("th", name, scope="col") for name in names),
        node("th", "right", scope="col", class_="number"),
    )
    rows = [_confusion_row(name, number, row) for number, (name, row) in enumerate(zip(names, counts, strict=True))]
    matrix = node("table", node("thead", groups, head), node("tbody", *rows), class_="confusion")
    return node("div", matrix, class_="scrolled", tabindex="0")


def _confusion_row(name: str, of: int, row: Sequence[int]) -> Element:
    examples = sum(row)
    cells = [_confusion_cell(count, examples, is_right=place == of) for place, count in enumerate(row)]
    right = share(row[of] / examples) if examples else "–"
    return node("tr", node("th", name, scope="row"), *cells, node("td", right, class_="number"))


def _confusion_cell(count: int, examples: int, *, is_right: bool) -> Element:
    strength = _STRONGEST * count / examples if examples else 0.0
    return node("td", str(count), class_="right" if is_right else "wrong", style=f"--strength: {strength:.3f}")
