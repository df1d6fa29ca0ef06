"""The page that compares runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from xml.etree.ElementTree import Element

from qtj.report.comparison import differences
from qtj.report.details import RunDetails
from qtj.report.html.chart import curve_chart
from qtj.report.html.curves import QUANTITIES, curve_of
from qtj.report.html.document import document
from qtj.report.html.element import Child, node
from qtj.report.html.overview import phase_badge
from qtj.report.html.parts import section, table
from qtj.report.html.wording import duration, number, option_text

__all__ = ["comparison_page"]

_COMPARED: Mapping[str, Callable[[RunDetails], Mapping[str, Any]]] = {
    "Options that differ": lambda run: run.record.options,
    "Versions that differ": lambda run: run.record.versions,
}


def comparison_page(runs: Sequence[RunDetails], written: datetime) -> str:
    """Returns the page that compares runs, of which there are at least two."""
    names = [run.results.title for run in runs]
    title = f"Comparison of {len(runs)} runs"
    kind = node("p", "QuantumTrainingJob", class_="kind")
    heading = node("header", kind, node("h1", title), node("p", ", ".join(names)))
    return document(title, [heading, _results(runs), *_curves(runs), *_differences(runs)], written)


def _results(runs: Sequence[RunDetails]) -> Element:
    metrics = list(dict.fromkeys(name for run in runs for name in run.results.metrics))
    headings = ["Run", "Phase", "Epochs", "Loss", "Held-out loss", "Accuracy", *metrics, "Time", "Examples/s"]
    rows = [
        [*_training(run), *(number(run.results.metrics.get(name)) for name in metrics), *_speed(run)] for run in runs
    ]
    return section("Results", table(headings, rows, numbers=range(2, len(headings))))


def _training(run: RunDetails) -> Iterator[Child]:
    yield run.results.title
    yield phase_badge(run.results.phase)
    last = run.results.epochs[-1] if run.results.epochs else None
    yield str(last.number) if last else "–"
    for value in (last.loss, last.validation_loss, last.accuracy) if last else (None, None, None):
        yield number(value)


def _speed(run: RunDetails) -> Iterator[Child]:
    yield "–" if run.seconds is None else duration(run.seconds)
    yield number(run.examples_per_second)


def _curves(runs: Sequence[RunDetails]) -> Iterator[Element]:
    """Yields the section with a chart for each quantity.

    A chart has a curve for each run that recorded the quantity.
    """
    charts = []
    for title, sets in QUANTITIES.items():
        for name, value in sets.items():
            of_runs = enumerate(run.results for run in runs)
            curves = [curve_of(found.title, found.epochs, value, color) for color, found in of_runs]
            if drawn := [curve for curve in curves if curve.known]:
                charts.append(curve_chart(f"{title}, {name}", drawn))
    if charts:
        yield section("Training", node("div", *charts, class_="charts"))


def _differences(runs: Sequence[RunDetails]) -> Iterator[Element]:
    for title, of in _COMPARED.items():
        values = [of(run) for run in runs]
        if names := differences(values):
            rows = [[name, *(option_text(each.get(name)) for each in values)] for name in names]
            columns = range(1, len(runs) + 1)
            yield section(title, table(["", *(run.results.title for run in runs)], rows, numbers=columns))
