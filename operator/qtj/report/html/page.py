"""The page of one run."""

from collections.abc import Iterator
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj.report.details import RunDetails
from qtj.report.html.curves import epoch_table, training_charts
from qtj.report.html.document import document
from qtj.report.html.element import node
from qtj.report.html.history import attempts_section, time_section
from qtj.report.html.overview import cards, heading
from qtj.report.html.parts import section
from qtj.report.html.predictions import predictions_section
from qtj.report.html.setup import (
    circuit_section,
    options_section,
    repeat_section,
    resources_section,
    versions_section,
)
from qtj.report.scores import finite_pairs

__all__ = ["run_page"]


def run_page(details: RunDetails, written: datetime) -> str:
    """Returns the page of a run: the results first, then how it was run, then how to repeat it."""
    title = f"{details.results.title}: {details.results.phase}"
    return document(title, [heading(details), cards(details), *_results(details), *_conditions(details)], written)


def _results(details: RunDetails) -> Iterator[Element]:
    found = details.results
    if details.notes:
        yield section("Notes", node("ul", *(node("li", note) for note in details.notes)))
    if found.epochs:
        charts = node("div", *training_charts(found.epochs), class_="charts")
        yield section("Training", charts, epoch_table(found.epochs))
    if found.predictions and finite_pairs(found.predictions):
        yield predictions_section(found.predictions)


def _conditions(details: RunDetails) -> Iterator[Element]:
    record = details.record
    if record.circuit or record.circuit_files:
        yield circuit_section(record)
    if details.stages:
        yield time_section(details.stages)
    if len(details.attempts) > 0 or details.results.status.failures:
        yield attempts_section(details)
    yield resources_section(details)
    if record.options:
        yield options_section(record)
    if record.versions:
        yield versions_section(record)
    yield repeat_section(details)
