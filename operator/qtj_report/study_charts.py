"""The charts of a study: the metric by each parameter, all parameters in one, and curves with a band over seeds."""

import math
from collections.abc import Callable, Iterator, Sequence
from xml.etree.ElementTree import Element

from qtj_report.axis import Axis, axis_of, log_axis, named_axis
from qtj_report.chart import HEIGHT, WIDTH, Chart, Curve, Frame, LegendEntry
from qtj_report.curves import Quantity, charts_by_set
from qtj_report.element import node
from qtj_report.predictions import is_drawable
from qtj_report.study import ParameterColumn, StudyContent, StudyPoint, Value
from qtj_report.wording import number

__all__ = ["CURVES", "parallel_chart", "parameter_charts", "seed_charts"]

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
