"""The page of one run."""

from collections.abc import Iterator
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj_report.content import Content
from qtj_report.curves import epoch_table, training_charts
from qtj_report.document import document
from qtj_report.element import node
from qtj_report.history import attempts_section, time_section
from qtj_report.overview import cards, heading
from qtj_report.parts import section
from qtj_report.predictions import predictions_section
from qtj_report.program import program_section
from qtj_report.scores import finite_pairs
from qtj_report.setup import (
    circuit_section,
    options_section,
    repeat_section,
    resources_section,
    versions_section,
)

__all__ = ["run_page"]


def run_page(found: Content, written: datetime) -> str:
    """Returns the page of a run: the results first, then how it was run, then how to repeat it."""
    title = f"{found.title}: {found.phase}"
    return document(title, [heading(found), cards(found), *_results(found), *_conditions(found)], written)


def _results(found: Content) -> Iterator[Element]:
    if found.notes:
        yield section("Notes", node("ul", *(node("li", note) for note in found.notes)))
    if found.epochs:
        charts = node("div", *(each.figure for each in training_charts(found.epochs)), class_="charts")
        yield section("Training", charts, epoch_table(found.epochs))
    if found.predictions and finite_pairs(found.predictions):
        yield predictions_section(found.predictions)


def _conditions(found: Content) -> Iterator[Element]:
    record = found.record
    if record.circuit or record.circuit_files:
        yield circuit_section(record)
    if found.stages:
        yield time_section(found.stages)
    if found.attempts or found.failures:
        yield attempts_section(found)
    yield resources_section(found)
    if found.programs:
        yield program_section(found.programs, found.origin)
    if record.options:
        yield options_section(record)
    if found.versions:
        yield versions_section(found)
    if found.repetition or found.weights_sha256:
        yield repeat_section(found)
