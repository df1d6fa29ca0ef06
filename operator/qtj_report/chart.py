"""Charts as SVG: curves with a legend, and points in a plane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.etree.ElementTree import Element

from qtj_report.axis import Axis, axis_of, epoch_axis
from qtj_report.element import node
from qtj_report.wording import number

__all__ = ["COLORS", "Curve", "Mark", "curve_chart", "scatter_chart"]

COLORS = 6
"""How many colours for curves the style sheet has."""

_WIDTH, _HEIGHT = 440, 276
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 422, 12, 226
_DOTTED_POINTS = 60
"""Up to so many points, each has a dot that shows its numbers."""

_MARK_LINE, _MARK_LINES = 18, 4
"""The distance of the lines for names of marks, and how many there are."""
_LETTER = 10.0
"""The width of a letter on a phone, where they are largest."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve over the epochs.

    Attributes:
        name: Its name in the legend.
        points: Epochs and numbers, in order; None is a gap.
        color: The number of its colour; from `COLORS` on the line is dashed.
    """

    name: str
    points: Sequence[tuple[int, float | None]]
    color: int = 0

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


def curve_chart(title: str, curves: Sequence[Curve], marks: Sequence[Mark] = ()) -> Element:
    """Draws curves over the epochs; at least one of them has a point."""
    epochs = [epoch for curve in curves for epoch, _ in curve.points]
    values = [value for curve in curves for _, value in curve.known]
    frame = _Frame(epoch_axis(min(epochs), max(epochs)), axis_of(values))
    drawn = [shape for curve in curves for shape in _curve_shapes(frame, curve)]
    shapes = [*frame.shapes("epoch", title.lower()), *drawn, *_mark_shapes(frame, marks)]
    legend = [_legend_entry(curve) for curve in curves]
    return _figure(title, shapes, *legend, label=f"{title} over the epochs")


def scatter_chart(title: str, points: Sequence[Point]) -> Element:
    """Draws predictions against labels, and the line on which they are equal; there is at least one point."""
    axis = axis_of([value for point in points for value in point])
    frame = _Frame(axis, axis)
    ends = frame.line([(axis.low, axis.low), (axis.high, axis.high)])
    dots = "".join(f"M{x} {y}h0" for x, y in map(frame.place, points))
    shapes = [
        *frame.shapes("label", "prediction"),
        node("path", d=ends, class_="exact"),
        node("path", d=dots, class_="points"),
    ]
    return _figure(
        title,
        shapes,
        node("span", "dotted line: prediction equals label"),
        label=f"{title}: predictions against labels",
    )


class _Frame:
    """Two axes, and where they put a point in the picture."""

    def __init__(self, x: Axis, y: Axis) -> None:
        self.x, self.y = x, y

    def place(self, point: Point) -> tuple[str, str]:
        """Returns where a point is, in units of the picture."""
        x, y = point
        return f"{self.left(x):.1f}", f"{self.top(y):.1f}"

    def left(self, x: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * self.x.place(x)

    def top(self, y: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * self.y.place(y)

    def line(self, points: Sequence[Point]) -> str:
        """Returns the path through points."""
        return "M" + "L".join(f"{x} {y}" for x, y in map(self.place, points))

    def shapes(self, x_label: str, y_label: str) -> Iterator[Element]:
        """Yields grid, ticks and names of the axes."""
        for tick in self.y.ticks:
            y = f"{self.top(tick):.1f}"
            yield node("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="grid")
            yield node("text", self.y.text(tick), x=_LEFT - 8, y=y, dy="0.35em", text_anchor="end")
        for tick in self.x.ticks:
            x = f"{self.left(tick):.1f}"
            yield node("line", x1=x, x2=x, y1=_BOTTOM, y2=_BOTTOM + 5, class_="axis")
            yield node("text", self.x.text(tick), x=x, y=_BOTTOM + 8, dy="1em", text_anchor="middle")
        yield node("line", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM, class_="axis")
        yield node("text", x_label, x=(_LEFT + _RIGHT) / 2, y=_HEIGHT - 6, text_anchor="middle", class_="name")
        turned = f"translate(17 {(_TOP + _BOTTOM) / 2}) rotate(-90)"
        yield node("text", y_label, transform=turned, text_anchor="middle", class_="name")


def _curve_shapes(frame: _Frame, curve: Curve) -> Iterator[Element]:
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


def _mark_shapes(frame: _Frame, marks: Sequence[Mark]) -> Iterator[Element]:
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


def _legend_entry(curve: Curve) -> Element:
    sample = (
        node("line", x1=0, x2=22, y1=5, y2=5, class_=curve.style),
        node("circle", cx=11, cy=5, r=2.5, class_=curve.style),
    )
    return node("span", node("svg", *sample, viewBox="0 0 22 10", width=22, height=10, aria_hidden="true"), curve.name)


def _figure(title: str, shapes: Sequence[Element], *legend: Element, label: str) -> Element:
    caption = node("figcaption", node("strong", title), node("span", *legend, class_="legend"))
    picture = node("svg", *shapes, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label)
    return node("figure", caption, picture)
