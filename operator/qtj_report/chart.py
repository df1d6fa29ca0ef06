"""Charts as SVG: curves with a legend, points in a plane, and a matrix of counts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.etree.ElementTree import Element

from qtj_report.axis import Axis, axis_of, epoch_axis
from qtj_report.element import node
from qtj_report.wording import number

__all__ = [
    "COLORS",
    "HEIGHT",
    "WIDTH",
    "Chart",
    "Curve",
    "Frame",
    "LegendEntry",
    "Mark",
    "curve_chart",
    "matrix_chart",
    "point_chart",
    "scatter_chart",
]

COLORS = 6
"""How many colours for curves the style sheet has."""

WIDTH, HEIGHT = 440, 276
"""The size of a chart without its title and legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 422, 12, 226
_DOTTED_POINTS = 60
"""Up to so many points, each has a dot that shows its numbers."""

_NAME_END, _TICK_GAP = 22, 8
"""Where the name of an axis at the left ends on a phone, and the space between its numbers and the axis."""

_MARK_LINE, _MARK_LINES = 18, 4
"""The distance of the lines for names of marks, and how many there are."""
_NAME = 8
"""Letters of a class that fit beside a matrix."""
_LETTER = 10.0
"""The width of a letter on a phone, where they are largest."""

_DIGIT, _POINT = 10.9, 6.2
"""The widths of a digit and of a point or a minus there."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve over the epochs.

    Attributes:
        name: Its name in the legend.
        points: Epochs and numbers, in order; None is a gap.
        color: The number of its colour; from `COLORS` on the line is dashed.
        band: Epochs with the smallest and the largest number, in order; empty without a band.
    """

    name: str
    points: Sequence[tuple[int, float | None]]
    color: int = 0
    band: Sequence[tuple[int, float, float]] = ()

    @property
    def known(self) -> Sequence[tuple[int, float]]:
        """The points without the gaps."""
        return [(epoch, value) for epoch, value in self.points if value is not None]

    @property
    def style(self) -> str:
        """Its class."""
        return f"curve c{self.color % COLORS}" + (" dashed" if self.color >= COLORS else "")


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line in a chart, such as the beginning of an attempt.

    Attributes:
        at: Where it is.
        name: What is written beside it.
    """

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An entry of a legend.

    Attributes:
        text: What it says.
        sample: A piece of the curve that it is about, 22 wide and 10 high; empty for a sentence.
    """

    text: str
    sample: Sequence[Element] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which a page shows as a figure, and a picture beside others.

    Attributes:
        title: Its title.
        label: What it shows, for those who cannot see it.
        shapes: What is drawn, within `WIDTH` and `HEIGHT`.
        legend: What the shapes mean.
    """

    title: str
    label: str
    shapes: Sequence[Element]
    legend: Sequence[LegendEntry] = ()

    @property
    def figure(self) -> Element:
        """The chart with its title and legend, as HTML."""
        legend = node("span", *map(_entry_figure, self.legend), class_="legend")
        drawn = node("svg", *self.shapes, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=self.label)
        return node("figure", node("figcaption", node("strong", self.title), legend), drawn)


def curve_chart(title: str, curves: Sequence[Curve], marks: Sequence[Mark] = ()) -> Chart:
    """Draws curves over the epochs; at least one of them has a point."""
    epochs = [epoch for curve in curves for epoch, _ in curve.points]
    values = [value for curve in curves for _, value in curve.known]
    values += [value for curve in curves for _, *limits in curve.band for value in limits]
    frame = Frame(epoch_axis(min(epochs), max(epochs)), axis_of(values))
    drawn = [shape for curve in curves for shape in _curve_shapes(frame, curve)]
    shapes = [*frame.shapes("epoch", title.lower()), *drawn, *_mark_shapes(frame, marks)]
    return Chart(title, f"{title} over the epochs", shapes, [_legend_entry(curve) for curve in curves])


def scatter_chart(title: str, points: Sequence[Point]) -> Chart:
    """Draws predictions against labels, and the line on which they are equal; there is at least one point."""
    axis = axis_of([value for point in points for value in point])
    exact = [(axis.low, axis.low), (axis.high, axis.high)]
    shapes = _point_shapes(Frame(axis, axis), ("label", "prediction"), points, exact)
    return Chart(
        title, f"{title}: predictions against labels", shapes, [LegendEntry("dotted line: prediction equals label")]
    )


def point_chart(
    title: str, axes: tuple[str, str], points: Sequence[tuple[str, Point]], ideal: Sequence[Point]
) -> Chart:
    """Draws named points in a plane, and a line for comparison.

    Args:
        title: The title.
        axes: The names of the axes.
        points: Names and places, at least one.
        ideal: The points of the line.
    """
    places = [place for _, place in points]
    x, y = (axis_of([0.0, *(place[at] for place in (*places, *ideal))]) for at in (0, 1))
    frame = Frame(x, y)
    shapes = [*_point_shapes(frame, axes, places, ideal), *(_point_name(frame, name, at) for name, at in points)]
    return Chart(title, f"{title}: {axes[1]} against {axes[0]}", shapes, [LegendEntry("dotted line: ideal")])


def matrix_chart(title: str, names: Sequence[str], counts: Sequence[Sequence[int]]) -> Chart:
    """Draws counts of labels, in rows, by what was predicted, in columns; there are at least one row and one column."""
    width, height = (_RIGHT - _LEFT) / len(names), (_BOTTOM - _TOP) / len(names)
    most = max(map(max, counts)) or 1
    shapes = list(_matrix_names(names, width, height))
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            left, top = _LEFT + x * width, _TOP + y * height
            size = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
            shapes.append(node("rect", **size, class_="cell", fill_opacity=f"{0.6 * count / most:.3f}"))
            middle = {"x": f"{left + width / 2:.1f}", "y": f"{top + height / 2:.1f}", "text_anchor": "middle"}
            shapes.append(node("text", str(count), **middle, dy="0.35em", style=_letters(height), class_="count"))
    return Chart(title, f"{title}: labels by predictions", shapes, [LegendEntry("rows: label, columns: prediction")])


def _letters(height: float) -> str:
    """Returns the style of letters that fit into a row."""
    return f"font-size: {min(13.0, 0.8 * height):.1f}px"


def _matrix_names(names: Sequence[str], width: float, height: float) -> Iterator[Element]:
    for place, name in enumerate(names):
        y = f"{_TOP + (place + 0.5) * height:.1f}"
        yield _matrix_name(name, height, x=_LEFT - 6, y=y, dy="0.35em")
        turned = f"translate({_LEFT + (place + 0.5) * width:.1f} {_BOTTOM + 10}) rotate(-30)"
        yield _matrix_name(name, width, transform=turned)


def _matrix_name(name: str, size: float, **place: str | float) -> Element:
    shown = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return node("text", node("title", name), shown, **place, text_anchor="end", style=_letters(size))


def _point_shapes(
    frame: "Frame", axes: tuple[str, str], points: Sequence[Point], line: Sequence[Point]
) -> Sequence[Element]:
    dots = "".join(f"M{x} {y}h0" for x, y in map(frame.place, points))
    drawn = (node("path", d=frame.line(line), class_="exact"), node("path", d=dots, class_="points"))
    return [*frame.shapes(*axes), *drawn]


def _point_name(frame: "Frame", name: str, at: Point) -> Element:
    x, y = frame.left(at[0]), frame.top(at[1])
    is_left = x + _LETTER * len(name) > _RIGHT
    return node(
        "text", name, x=f"{x + (-6 if is_left else 6):.1f}", y=f"{y - 6:.1f}", text_anchor="end" if is_left else None
    )


class Frame:
    """Two axes, and where they put a point in the picture.

    Args:
        x: The axis below.
        y: The axis at the left.
    """

    def __init__(self, x: Axis, y: Axis) -> None:
        self.x, self.y = x, y
        widest = max(map(_width, y.texts.values()))
        self._begin = max(_LEFT, math.ceil(_NAME_END + widest + _TICK_GAP))

    def place(self, point: Point) -> tuple[str, str]:
        """Returns where a point is, in units of the picture."""
        x, y = point
        return f"{self.left(x):.1f}", f"{self.top(y):.1f}"

    def left(self, x: float) -> float:
        """Returns the distance of a number of the axis below from the left edge."""
        return self._begin + (_RIGHT - self._begin) * self.x.place(x)

    def top(self, y: float) -> float:
        """Returns the distance of a number of the axis at the left from the upper edge."""
        return _BOTTOM - (_BOTTOM - _TOP) * self.y.place(y)

    def line(self, points: Sequence[Point]) -> str:
        """Returns the path through points."""
        return "M" + "L".join(f"{x} {y}" for x, y in map(self.place, points))

    def shapes(self, x_label: str, y_label: str) -> Iterator[Element]:
        """Yields grid, ticks and names of the axes."""
        for tick, text in self.y.texts.items():
            y = f"{self.top(tick):.1f}"
            yield node("line", x1=self._begin, x2=_RIGHT, y1=y, y2=y, class_="grid")
            yield node("text", text, x=self._begin - _TICK_GAP, y=y, dy="0.35em", text_anchor="end")
        for tick, text in self.x.texts.items():
            x = f"{self.left(tick):.1f}"
            yield node("line", x1=x, x2=x, y1=_BOTTOM, y2=_BOTTOM + 5, class_="axis")
            yield node("text", text, x=x, y=_BOTTOM + 8, dy="1em", text_anchor="middle")
        yield node("line", x1=self._begin, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM, class_="axis")
        yield node("text", x_label, x=(self._begin + _RIGHT) / 2, y=HEIGHT - 6, text_anchor="middle", class_="name")
        turned = f"translate(17 {(_TOP + _BOTTOM) / 2}) rotate(-90)"
        yield node("text", y_label, transform=turned, text_anchor="middle", class_="name")


def _width(number: str) -> float:
    """Returns how wide a number of an axis is on a phone."""
    return sum(_POINT if each in ".-" else _DIGIT for each in number)


def _curve_shapes(frame: Frame, curve: Curve) -> Iterator[Element]:
    if curve.band:
        lower, upper = ([(epoch, limits[at]) for epoch, *limits in curve.band] for at in (0, 1))
        yield node("path", d=f"{frame.line([*upper, *reversed(lower)])}Z", class_=f"band c{curve.color % COLORS}")
    yield node("path", d="".join(map(frame.line, _pieces(curve))), class_=curve.style)
    if len(curve.points) <= _DOTTED_POINTS or len(curve.known) == 1:
        for epoch, value in curve.known:
            x, y = frame.place((epoch, value))
            tip = node("title", f"{curve.name}, epoch {epoch}: {number(value)}")
            yield node("circle", tip, cx=x, cy=y, r=2.5, class_=curve.style)


def _pieces(curve: Curve) -> Iterator[Sequence[Point]]:
    """Yields the parts of a curve between its gaps."""

    def is_known(point: tuple[int, float | None]) -> bool:
        return point[1] is not None

    for known, points in groupby(curve.points, is_known):
        if known:
            yield [(epoch, value) for epoch, value in points if value is not None]


def _mark_shapes(frame: Frame, marks: Sequence[Mark]) -> Iterator[Element]:
    taken: list[tuple[int, float, float]] = []
    for mark in marks:
        x = frame.left(mark.at)
        yield node("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=_TOP, y2=_BOTTOM, class_="mark")
        width = _LETTER * len(mark.name)
        is_left = x + width > _RIGHT
        side, anchor = (-5, "end") if is_left else (5, "start")
        begin, end = (x - width, x) if is_left else (x, x + width)
        line = _free_line(taken, begin, end)
        if line is not None:
            taken.append((line, begin, end))
            y = _TOP + 15 + _MARK_LINE * line
            yield node("text", mark.name, x=f"{x + side:.1f}", y=y, text_anchor=anchor, class_="name")


def _free_line(taken: Sequence[tuple[int, float, float]], begin: float, end: float) -> int | None:
    """Returns the first line on which a name overlaps no other; None if there is none."""
    overlapped = {line for line, left, right in taken if begin < right and left < end}
    return next((line for line in range(_MARK_LINES) if line not in overlapped), None)


def _legend_entry(curve: Curve) -> LegendEntry:
    line = node("line", x1=0, x2=22, y1=5, y2=5, class_=curve.style)
    return LegendEntry(curve.name, (line, node("circle", cx=11, cy=5, r=2.5, class_=curve.style)))


def _entry_figure(entry: LegendEntry) -> Element:
    if not entry.sample:
        return node("span", entry.text)
    return node(
        "span", node("svg", *entry.sample, viewBox="0 0 22 10", width=22, height=10, aria_hidden="true"), entry.text
    )
