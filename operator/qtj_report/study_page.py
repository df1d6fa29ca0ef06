"""The page of a study."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj_report.document import document
from qtj_report.element import Child, node, section, table
from qtj_report.page import phase_badge
from qtj_report.study import StudyContent, StudyTrial
from qtj_report.study_charts import parallel_chart, parameter_charts, seed_charts
from qtj_report.wording import number, share

__all__ = ["study_page"]

_LISTED = 200
"""Rows of a table that is open; a longer one is folded."""

_INFLUENCE_NOTE = (
    "Share of the variance of all runs that lies between groups of runs with the same value. The rest comes from "
    "seeds, and from parameters that act together. By chance, a parameter without any effect has the second share "
    "on average."
)
"""What the table of influences means, and what not."""


def study_page(found: StudyContent, written: datetime) -> str:
    """Returns the page of a study: the points first, then charts, then its runs."""
    title = node("h1", found.title, " ", phase_badge(found.phase))
    kind = node("p", "QuantumTrainingStudy", class_="kind")
    head = node("header", kind, title, node("p", found.headline), node("p", found.counts, class_="note"))
    return document(f"{found.title}: {found.phase}", [head, *_sections(found)], written)


def _sections(found: StudyContent) -> Iterator[Element]:
    if found.notes:
        yield section("Notes", node("ul", *(node("li", note) for note in found.notes)))
    rows = [each.cells for each in found.points]
    yield section("Points", _folded(found.headings, rows, range(1, len(found.headings)), "points"))
    if found.final:
        yield section("Final training", node("p", found.final))
    if found.comparison:
        yield section("Best point and baseline", *(node("p", sentence) for sentence in found.comparison))
    if charts := [*parameter_charts(found), *parallel_chart(found)]:
        yield section("Parameters", node("div", *(each.figure for each in charts), class_="charts"))
    if found.influences:
        yield section("Importance of parameters", _influences(found), node("p", _INFLUENCE_NOTE, class_="note"))
    if curves := list(seed_charts(found.points)):
        what = "Line: mean of the seeds; band: from the smallest to the largest; only the best points."
        drawn = node("div", *(each.figure for each in curves), class_="charts")
        yield section("Training", drawn, node("p", what, class_="note"))
    yield section("Runs", _runs(found))


def _folded(headings: Sequence[str], rows: Sequence[Sequence[Child]], numbers: Sequence[int], what: str) -> Element:
    shown = table(headings, rows, numbers=numbers)
    if len(rows) <= _LISTED:
        return shown
    return node("details", node("summary", f"{len(rows)} {what}"), shown)


def _influences(found: StudyContent) -> Element:
    rows = [(each.name, share(each.share), share(each.by_chance)) for each in found.influences]
    return table(("Parameter", "Share", "By chance"), rows, numbers=(1, 2))


def _runs(found: StudyContent) -> Element:
    rows = [_run(each) for each in found.trials]
    return _folded(("Run", "Phase", found.metric, "Values"), rows, (2,), "runs")


def _run(trial: StudyTrial) -> tuple[Child, ...]:
    name: Child = node("a", trial.name, href=trial.page) if trial.page else trial.name
    values = f"{trial.setting}: {trial.message}" if trial.message else trial.setting
    return name, phase_badge(trial.phase), number(trial.metric), values
