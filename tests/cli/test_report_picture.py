"""The picture of a report: its charts, axes and colours, and what predictions are worth."""

import math
import re
import tracemalloc
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import EpochRecord
from qtj_report.axis import axis_of, epoch_axis
from qtj_report.chart import Chart
from qtj_report.content import Content
from qtj_report.picture import report_charts, report_picture
from qtj_report.predictions import Errors, confusion, errors_of, finite_pairs

ANIMALS = Predictions(classes=("cat", "dog"), labels=[0, 0, 1], predictions=[0, 1, 1], examples=3)
LINE = Predictions(labels=[0.0, 2.0], predictions=[1.0, 2.0], examples=2)
STYLE = resources.files("qtj_report").joinpath("page.css").read_text("utf-8")
PARTS = STYLE.split("@media")[:2]
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w{6});", part)) for part in PARTS)


def found(epochs: Sequence[EpochRecord] = (), predictions: Predictions | None = None, title: str = "own") -> Content:
    return Content(title=title, phase="Complete", headline="done", epochs=epochs, predictions=predictions)


def epochs(*losses: float | None) -> list[EpochRecord]:
    return [EpochRecord(number, 1, loss) for number, loss in enumerate(losses, start=1)]


def titles(charts: Sequence[Chart]) -> list[str]:
    return [each.title for each in charts]


def texts(chart: Chart) -> list[str]:
    return ["".join(each.itertext()) for each in chart.shapes if each.tag == "text"]


def test_the_picture_is_one_well_formed_file_that_needs_no_other_and_has_no_variables() -> None:
    drawn = report_picture(found([*epochs(0.5, 0.25), EpochRecord(3, 2, 0.125, accuracy=0.5)], ANIMALS, title="own/2"))

    assert drawn is not None
    root = ET.fromstring(drawn)
    text = "{http://www.w3.org/2000/svg}text"
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = ["".join(each.itertext()) for each in root.iter(text)]
    assert words[0] == "own/2 (Complete)"
    assert {"Loss", "Accuracy", "Predictions: 2 of 3 right", "training set", "held-out set"} <= set(words)
    assert "var(" not in drawn, "few programs but browsers know them"
    assert drawn.count("http") == 1, "the name space alone"


def test_what_a_program_writes_is_text_and_never_markup() -> None:
    names = ("</style><script>", "\x1b[2J&amp;\x00")

    drawn = report_picture(found(predictions=Predictions(classes=names, labels=[0], predictions=[1], examples=1)))

    assert drawn is not None
    assert [each.tag for each in ET.fromstring(drawn).iter() if each.tag.endswith("script")] == []


@pytest.mark.parametrize(
    ("told", "curves"),
    [
        ({"training_accuracy": 0.5}, ["training set"]),
        ({"accuracy": 0.5}, ["held-out set"]),
        ({"training_accuracy": 0.5, "accuracy": 0.25}, ["training set", "held-out set"]),
    ],
)
def test_accuracy_has_a_chart_between_loss_and_predictions(told: dict[str, Any], curves: list[str]) -> None:
    history = [EpochRecord(number, 1, 0.5, **told) for number in (1, 2)]

    charts = report_charts(found(history, ANIMALS))

    assert titles(charts) == ["Loss", "Accuracy", "Predictions: 2 of 3 right"]
    assert [each.text for each in charts[1].legend] == curves


def test_each_chart_is_there_only_if_there_are_data_for_it() -> None:
    assert titles(report_charts(found(epochs(0.5)))) == ["Loss"]
    assert titles(report_charts(found([EpochRecord(1, 1, None, training_accuracy=0.5)]))) == ["Accuracy"]
    assert titles(report_charts(found(epochs(None), LINE))) == ["Predictions: root mean square error 0.7071"]


@pytest.mark.parametrize("losses", [(), (None,), (math.nan, math.inf)])
def test_without_anything_to_draw_there_is_no_picture(losses: tuple[float | None, ...]) -> None:
    nothing = Predictions(labels=[1.0], predictions=[None], examples=1)

    assert report_picture(found(epochs(*losses), nothing)) is None


def test_what_is_not_finite_is_a_gap_and_a_restart_a_line_between_two_epochs() -> None:
    history = [*epochs(0.5, math.inf), EpochRecord(3, 2, 0.25)]

    [loss] = report_charts(found(history))

    [curve] = [each for each in loss.shapes if each.tag == "path"]
    assert curve.attrib["d"].count("M") == 2
    [mark] = [each for each in loss.shapes if each.attrib.get("class") == "mark"]
    assert float(mark.attrib["x1"]) == pytest.approx(69 + 0.75 * (422 - 69), abs=0.1), (
        "between the second and the third of three epochs"
    )
    assert "attempt 2" in texts(loss)


@pytest.mark.parametrize("least", [0.5, 0.99125, 123456.0, -0.00125])
def test_the_numbers_of_an_axis_are_beside_its_name_however_long_they_are(least: float) -> None:
    """On a phone, where a digit is about ten units wide; the name of the axis ends at 22."""
    [chart] = report_charts(found(epochs(least, least * 1.0001)))

    numbers = [each for each in chart.shapes if each.attrib.get("text-anchor") == "end"]
    assert numbers
    for each in numbers:
        wide = sum(5.0 if letter in ".-" else 9.6 for letter in str(each.text))
        assert float(each.attrib["x"]) - wide >= 22


def test_classes_stand_on_both_axes_and_each_cell_has_its_count() -> None:
    [chart] = report_charts(found(predictions=ANIMALS))

    assert texts(chart) == ["catcat", "catcat", "dogdog", "dogdog", "1", "1", "0", "1"]
    assert [each.text for each in chart.legend] == ["rows: label, columns: prediction"]
    shades = [each.attrib["fill-opacity"] for each in chart.shapes if each.tag == "rect"]
    assert shades == ["0.600", "0.600", "0.000", "0.600"]


def test_a_long_name_of_a_class_is_cut_and_whole_where_one_points() -> None:
    names = ("sparse categorical", "dog")

    [chart] = report_charts(found(predictions=Predictions(classes=names, labels=[0], predictions=[1], examples=1)))

    assert texts(chart)[0] == "sparse categoricalsparse …"


def test_a_regression_is_drawn_as_predictions_against_labels() -> None:
    [chart] = report_charts(found(predictions=LINE))

    assert texts(chart)[-2:] == ["label", "prediction"]
    [points] = [each for each in chart.shapes if each.attrib.get("class") == "points"]
    assert points.attrib["d"] == "M66.0 119.0h0M422.0 12.0h0"


def test_more_classes_than_a_matrix_has_room_for_are_points() -> None:
    many = Predictions(classes=["class"] * 30_000, labels=[0, 29_999], predictions=[0, 1], examples=2)

    tracemalloc.start()
    [chart] = report_charts(found(predictions=many))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100 * 2**20, "a matrix of 30,000 classes takes gigabytes"
    assert (chart.title, [each for each in chart.shapes if each.tag == "rect"]) == ("Predictions: 1 of 2 right", [])


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.1, 0.9], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([0.78, 1.0], ["0.75", "0.80", "0.85", "0.90", "0.95", "1.00"]),
        ([-3.0, 17.2], ["-5", "0", "5", "10", "15", "20"]),
        ([0.5], ["0.45", "0.50", "0.55"]),
        ([0.0], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ([1e-7, 3e-7], ["1e-07", "1.5e-07", "2e-07", "2.5e-07", "3e-07"]),
        ([1e8, 1e8 + 5], [f"10000000{digit}" for digit in range(6)]),
    ],
)
def test_ticks_are_round_numbers_that_differ(values: list[float], ticks: list[str]) -> None:
    assert list(axis_of(values).texts.values()) == ticks


@pytest.mark.parametrize("values", [[0.3, 0.7], [1e200, -1e200], [5e-324, 0.0], [0.1, 0.1 + 1e-17], [1e-310], [-7.0]])
def test_every_number_is_between_the_ends(values: list[float]) -> None:
    axis = axis_of(values)

    assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value in values)


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (1, 1, [1]),
        (1, 2, [1, 2]),
        (3, 9, [3, 4, 6, 8]),
        (1, 25, [1, 5, 10, 15, 20, 25]),
        (9, 31, [9, 15, 20, 25, 30]),
        (1, 10**9, [1, *range(2 * 10**8, 10**9 + 1, 2 * 10**8)]),
    ],
)
def test_epochs_are_whole_numbers_however_many_there_are(first: int, last: int, ticks: list[int]) -> None:
    assert list(epoch_axis(first, last).texts) == ticks


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *((front, back) for front in ("text", "muted") for back in ("page", "surface")),
        *((front, f"{front}-back") for front in ("good", "bad", "other")),
    ],
)
def test_text_can_be_read(colors: dict[str, str], front: str, back: str) -> None:
    assert contrast(colors[front], colors[back]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("number", range(6))
def test_curves_can_be_seen(colors: dict[str, str], number: int) -> None:
    assert contrast(colors[f"c{number}"], colors["surface"]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["right", "wrong"])
def test_counts_can_be_read_on_the_strongest_colour(colors: dict[str, str], kind: str) -> None:
    [rgb] = re.findall(rf"--{kind}: (\d+) (\d+) (\d+);", PARTS[0 if colors is LIGHT else 1])
    behind = [int(colors["surface"][at : at + 2], 16) for at in (1, 3, 5)]
    mixed = "#" + "".join(f"{round(0.4 * int(a) + 0.6 * b):02x}" for a, b in zip(rgb, behind, strict=True))

    assert contrast(colors["text"], mixed) >= 4.5


def of_classes(labels: list[float], said: list[float | None], *classes: str) -> Predictions:
    scores = [0.5] * len(labels)
    return Predictions(classes=classes, labels=labels, predictions=said, scores=scores, examples=len(labels))


def test_an_example_without_a_finite_answer_is_not_judged() -> None:
    assert finite_pairs(of_classes([0, 1, 1], [1, None, 0], "a", "b")) == [(0, 1), (1, 0)]


def test_each_example_counts_in_the_row_of_its_class_and_the_column_of_its_answer() -> None:
    counts = confusion(of_classes([0, 0, 1, 2, 2, 2], [0, 1, 1, 2, 0, None], "a", "b", "c"))

    assert counts == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


def test_the_rows_of_a_matrix_are_not_one_and_the_same() -> None:
    counts = confusion(of_classes([0], [0], "a", "b"))

    assert all(one is not other for one, other in pairwise(counts))


def test_the_errors_of_a_regression_are_those_of_the_textbooks() -> None:
    errors = errors_of([(1.0, 2.0), (3.0, 3.0), (5.0, 3.0)])

    assert errors.root_mean_square == pytest.approx(math.sqrt(5 / 3))
    assert errors.mean_absolute == 1
    assert errors.determination == pytest.approx(1 - 5 / 8)


def test_a_perfect_model_explains_everything() -> None:
    assert errors_of([(1.0, 1.0), (2.0, 2.0)]) == Errors(0.0, 0.0, 1.0)


def test_a_model_that_always_says_the_mean_explains_nothing() -> None:
    assert errors_of([(1.0, 2.0), (3.0, 2.0)]).determination == 0


def test_labels_that_do_not_vary_cannot_be_explained() -> None:
    assert errors_of([(1.0, 2.0), (1.0, 0.0)]) == Errors(1.0, 1.0, None)
