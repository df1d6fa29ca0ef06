"""The page that compares runs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj_contract.stored_source import changes
from qtj_report.comparison import COMPARED, differing_names
from qtj_report.content import Content
from qtj_report.element import Child, document, node, section, table
from qtj_report.page import phase_badge
from qtj_report.picture import charts_by_set, curve_of
from qtj_report.wording import duration, named_metrics, number, option_text

__all__ = ["comparison_page"]

_UNKNOWN = "–"
"""A number that is not known: a column of these is left out."""


def comparison_page(runs: Sequence[Content], written: datetime) -> str:
    """Returns the page that compares runs, of which there are at least two."""
    names = [run.title for run in runs]
    title = f"Comparison of {len(runs)} runs"
    kind = node("p", "QuantumTrainingJob", class_="kind")
    heading = node("header", kind, node("h1", title), node("p", ", ".join(names)))
    return document(title, [heading, *_programs(runs), *_differences(runs), _results(runs), *_curves(runs)], written)


def _results(runs: Sequence[Content]) -> Element:
    measured = [named_metrics(run.metrics, run.measured_by) for run in runs]
    metrics = list(dict.fromkeys(name for each in measured for name in each))
    headings = ["Run", "Phase", "Epochs", "Training loss", "Held-out loss", "Accuracy", *metrics, "Time", "Examples/s"]
    rows = [
        [*_training(run), *(number(found.get(name)) for name in metrics), *_speed(run)]
        for run, found in zip(runs, measured, strict=True)
    ]
    known = [column for column in range(len(headings)) if any(row[column] != _UNKNOWN for row in rows)]
    shown = [[row[column] for column in known] for row in rows]
    return section("Results", table([headings[column] for column in known], shown, numbers=range(2, len(known))))


def _training(run: Content) -> Iterator[Child]:
    yield run.title
    yield phase_badge(run.phase)
    last = run.epochs[-1] if run.epochs else None
    yield str(last.number) if last else _UNKNOWN
    for value in (last.loss, last.validation_loss, last.accuracy) if last else (None, None, None):
        yield number(value)


def _speed(run: Content) -> Iterator[Child]:
    yield _UNKNOWN if run.seconds is None else duration(run.seconds)
    yield number(run.examples_per_second)


def _curves(runs: Sequence[Content]) -> Iterator[Element]:
    """Yields the section with a chart for each quantity, which has a curve for each run that recorded it."""
    charts = charts_by_set(
        [each for run in runs for each in run.epochs],
        lambda value: [curve_of(run.title, run.epochs, value, color) for color, run in enumerate(runs)],
    )
    if figures := [each.figure for each in charts]:
        yield section("Training", node("div", *figures, class_="charts"))


def _programs(runs: Sequence[Content]) -> Iterator[Element]:
    """Yields what differs from the program of the first run that has one."""
    first = next((run for run in runs if run.programs), None)
    if first is None:
        return
    rows = [(run.title, _changed_since(first, run)) for run in runs if run is not first]
    yield section("Programs", table(["", f"Compared with {first.title}"], rows))


def _changed_since(first: Content, run: Content) -> str:
    if not run.programs:
        return "its program is not recorded"
    return "; ".join(changes(first.programs, run.programs)) or "the same program and arguments"


def _differences(runs: Sequence[Content]) -> Iterator[Element]:
    for title, of in COMPARED.items():
        values = [of(run) for run in runs]
        if names := differing_names(values):
            rows = [[name, *(option_text(each.get(name)) for each in values)] for name in names]
            columns = range(1, len(runs) + 1)
            yield section(f"{title} that differ", table(["", *(run.title for run in runs)], rows, numbers=columns))
