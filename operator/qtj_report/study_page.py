"""The page of a study, with its charts: the metric by each parameter, all parameters in one, curves with bands."""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj_report.axis import Axis, axis_of, log_axis, named_axis
from qtj_report.chart import HEIGHT, WIDTH, Chart, Curve, Frame, LegendEntry
from qtj_report.content import ParameterColumn, StudyContent, StudyPoint, StudyTrial, Value
from qtj_report.element import Child, document, node, section, table
from qtj_report.page import phase_badge
from qtj_report.picture import Quantity, charts_by_set
from qtj_report.predictions import is_drawable
from qtj_report.wording import number, share

__all__ = ["CURVES", "parallel_chart", "parameter_charts", "seed_charts", "study_page"]

_LISTED = 200
"""Rows of a table that is open; a longer one is folded."""

_INFLUENCE_NOTE = (
    "Share of the variance of all runs that lies between groups of runs with the same value. The rest comes from "
    "seeds, and from parameters that act together. By chance, a parameter without any effect has the second share "
    "on average."
)
"""What the table of influences means, and what not."""
CURVES = 6
"""Of so many points, the best ones, curves are drawn."""

_NAMED = 6
"""The most values that are written on an axis one beside the other."""
_LETTERS = 9
"""Of a value on an axis."""
_CAP = 5
"""Half the width of the end of an interval."""
_MOST_AXES = 6
_EDGE, _AXIS_TOP, _AXIS_BOTTOM = 46, 34, 226
"""Where the axes of the parallel ones are."""

_Place = Callable[[Value], float]


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


def parameter_charts(found: StudyContent) -> Iterator[Chart]:
    """Yields the metric against each parameter; nothing without values that can be drawn."""
    points = _drawable(found.points)
    for parameter in found.parameters if points else ():
        yield _parameter_chart(found.metric, parameter, points)


def _drawable(points: Sequence[StudyPoint]) -> Sequence[StudyPoint]:
    return [each for each in points if each.metrics and all(map(is_drawable, each.metrics))]


def _parameter_chart(metric: str, parameter: ParameterColumn, points: Sequence[StudyPoint]) -> Chart:
    x, place = _axis_of(parameter, [each.values[parameter.name] for each in points])
    frame = Frame(x, axis_of([value for each in points for value in (*each.metrics, *_interval(each))]))
    shapes = [*frame.shapes(parameter.name, metric)]
    dots = [(place(each.values[parameter.name]), value) for each in points for value in each.metrics]
    shapes.append(node("path", d="".join("M{} {}h0".format(*frame.place(dot)) for dot in dots), class_="points"))
    for each in points:
        shapes += _spread(frame, each, place(each.values[parameter.name]))
    legend = [LegendEntry("dots: runs, bars: mean with 95% interval of a point")]
    return Chart(f"{metric} by {parameter.name}", f"{metric} against {parameter.name}", shapes, legend)


def _spread(frame: Frame, point: StudyPoint, at: float) -> Iterator[Element]:
    if point.mean is None:
        return
    x, (low, high) = frame.left(at), (frame.top(each) for each in _interval(point))
    caps = "".join(f"M{x - _CAP:.1f} {y:.1f}h{2 * _CAP}" for y in {low, frame.top(point.mean), high})
    margin = "" if point.margin is None else f" ± {number(point.margin)}"
    tip = node("title", f"{point.name}: {number(point.mean)}{margin}")
    yield node("path", tip, d=f"M{x:.1f} {low:.1f}V{high:.1f}{caps}", class_="spread")


def _interval(point: StudyPoint) -> tuple[float, float]:
    mean, margin = point.mean or 0.0, point.margin or 0.0
    return mean - margin, mean + margin


def _axis_of(parameter: ParameterColumn, values: Sequence[Value]) -> tuple[Axis, _Place]:
    """Returns an axis, and where a value is on it: few values are evenly spread, many numbers by their size."""
    different = list(dict.fromkeys(values))
    numbers = [each for each in different if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(different) <= _NAMED or len(numbers) < len(different):
        ordered = sorted(numbers) if len(numbers) == len(different) else different
        return _written(ordered), lambda value: float(ordered.index(value))
    if parameter.is_log:
        return log_axis(numbers), lambda value: math.log10(float(value))
    return axis_of([float(each) for each in numbers]), float


def _written(values: Sequence[Value]) -> Axis:
    axis = named_axis([_text(each) for each in values])
    step = -(-len(values) // _NAMED)
    return Axis(axis.low, axis.high, {at: text for at, text in axis.texts.items() if not at % step})


def _text(value: Value) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def parallel_chart(found: StudyContent) -> Iterator[Chart]:
    """Yields all parameters and the metric side by side, a line for each point; nothing for one parameter."""
    points = [each for each in _drawable(found.points) if each.mean is not None]
    if not points or not 1 < len(found.parameters) < _MOST_AXES:
        return
    columns = [(each.name, *_axis_of(each, [point.values[each.name] for point in points])) for each in found.parameters]
    means = axis_of([each.mean or 0.0 for each in points])
    step = (WIDTH - 2 * _EDGE) / len(columns)
    shapes: list[Element] = []
    for place, (name, axis) in enumerate([*((name, axis) for name, axis, _ in columns), (found.metric, means)]):
        shapes += _upright(_EDGE + place * step, name, axis)
    ways: list[Element] = []
    for each in points:
        heights = [_height(axis, at(each.values[name])) for name, axis, at in columns]
        heights.append(_height(means, each.mean or 0.0))
        line = "L".join(f"{_EDGE + place * step:.1f} {y:.1f}" for place, y in enumerate(heights))
        tip = node("title", f"{each.name}: {number(each.mean)}")
        ways.append(node("path", tip, d=f"M{line}", class_="way best" if each.is_best else "way"))
    ways.sort(key=lambda way: way.get("class") or "")  # the best one is drawn last
    legend = [LegendEntry("a line: a point, the strong one: the best")]
    yield Chart("All parameters", f"All parameters and {found.metric}", [*ways, *shapes], legend)


def _height(axis: Axis, value: float) -> float:
    return _AXIS_BOTTOM - (_AXIS_BOTTOM - _AXIS_TOP) * axis.place(value)


def _upright(x: float, name: str, axis: Axis) -> Iterator[Element]:
    yield node("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=_AXIS_TOP, y2=_AXIS_BOTTOM, class_="axis")
    for tick, text in axis.texts.items():
        yield node("text", text, x=f"{x + 5:.1f}", y=f"{_height(axis, tick):.1f}", dy="0.35em", class_="over")
    shown = node("title", name), name if len(name) <= 2 * _LETTERS else f"{name[: 2 * _LETTERS - 1]}…"
    yield node("text", *shown, x=f"{x:.1f}", y=HEIGHT - 16, text_anchor="middle", class_="name")


def seed_charts(points: Sequence[StudyPoint]) -> Iterator[Chart]:
    """Yields a chart for each quantity, with a curve for each of the best points that has recorded it."""
    with_runs = [each for each in points if each.runs][:CURVES]
    yield from charts_by_set(
        [epoch for each in with_runs for run in each.runs for epoch in run],
        lambda value: [_seed_curve(each, value, color) for color, each in enumerate(with_runs)],
    )


def _seed_curve(point: StudyPoint, value: Quantity, color: int) -> Curve:
    """Returns the mean over the runs of a point, and from the smallest to the largest; as far as all runs went."""
    runs = [{each.number: value(each) for each in run} for run in point.runs]
    rows: list[tuple[int, list[float]]] = []
    for epoch in sorted(set.intersection(*(set(run) for run in runs))):
        known = [found for run in runs if (found := run[epoch]) is not None and is_drawable(found)]
        if len(known) == len(runs):
            rows.append((epoch, known))
    band = [(epoch, min(known), max(known)) for epoch, known in rows] if len(runs) > 1 else []
    return Curve(point.name, [(epoch, sum(known) / len(known)) for epoch, known in rows], color, band)
