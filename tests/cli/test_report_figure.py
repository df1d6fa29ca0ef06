"""The picture of a report: which panels it has, and what stands on their axes."""

import math
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qtj.report.figure import has_picture, report_figure
from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.status import Phase
from qtj_report.content import Content

ANIMALS = Predictions(classes=("cat", "dog"), labels=[0, 0, 1], predictions=[0, 1, 1], examples=3)
LINE = Predictions(labels=[0.0, 2.0], predictions=[1.0, 2.0], examples=2)


def found(epochs: Sequence[EpochRecord] = (), predictions: Predictions | None = None, title: str = "own") -> Content:
    return Content(
        title=title,
        phase=Phase.COMPLETE,
        headline=f"{title} is Complete",
        epochs=epochs,
        metrics={},
        predictions=predictions,
    )


def epochs(*losses: float | None, attempt: int = 1) -> list[EpochRecord]:
    return [EpochRecord(number, attempt, loss) for number, loss in enumerate(losses, start=1)]


def drawn(findings: Content) -> Figure:
    """The picture, drawn to its end."""
    figure = report_figure(findings)
    figure.canvas.draw()
    return figure


def numbers_of(line: Line2D) -> tuple[list[float], list[float]]:
    """Where a line goes: across and up."""
    across, up = (np.asarray(numbers, float).tolist() for numbers in (line.get_xdata(), line.get_ydata()))
    return across, up


def test_the_job_and_its_run_are_the_title() -> None:
    assert drawn(found(epochs(0.5), title="own/2")).get_suptitle() == "own/2 (Complete)"


def test_loss_and_predictions_have_a_panel_each() -> None:
    loss, predictions = drawn(found(epochs(0.5), ANIMALS)).axes

    assert (loss.get_xlabel(), loss.get_ylabel()) == ("epoch", "loss")
    assert (predictions.get_xlabel(), predictions.get_ylabel()) == ("prediction", "label")


@pytest.mark.parametrize(
    ("told", "curves"),
    [
        ({"training_accuracy": 0.5}, ["training set"]),
        ({"accuracy": 0.5}, ["held-out set"]),
        ({"training_accuracy": 0.5, "accuracy": 0.25}, ["training set", "held-out set"]),
    ],
)
def test_accuracy_has_a_panel_between_loss_and_predictions(told: dict[str, Any], curves: list[str]) -> None:
    history = [EpochRecord(number, 1, 0.5, **told) for number in (1, 2)]

    _, accuracy, predictions = drawn(found(history, ANIMALS)).axes

    assert (accuracy.get_title(), predictions.get_xlabel()) == ("Accuracy", "prediction")
    assert accuracy.get_legend_handles_labels()[1] == curves


def test_an_accuracy_alone_is_a_picture() -> None:
    history = [EpochRecord(1, 1, None, training_accuracy=0.5)]

    assert has_picture(found(history))
    assert [axes.get_title() for axes in drawn(found(history)).axes] == ["Accuracy"]


def test_without_predictions_there_is_no_panel_for_them() -> None:
    [loss] = drawn(found(epochs(0.5))).axes

    assert loss.get_title() == "Loss"


def test_without_a_loss_there_is_no_panel_for_it() -> None:
    [predictions] = drawn(found(epochs(None, None), LINE)).axes

    assert predictions.get_title() == "Root mean square error 0.7071"


@pytest.mark.parametrize("losses", [(), (None,), (math.nan, math.inf)])
def test_without_anything_to_draw_there_is_no_picture(losses: tuple[float | None, ...]) -> None:
    nothing = Predictions(labels=[1.0], predictions=[None], examples=1)

    assert not has_picture(found(epochs(*losses), nothing))


@pytest.mark.parametrize("count", [1, 2, 3, 25])
def test_epochs_are_whole_numbers(count: int) -> None:
    [loss] = drawn(found(epochs(*[0.5] * count))).axes

    assert all(float(tick).is_integer() for tick in loss.get_xticks())


def test_what_is_not_finite_is_a_gap() -> None:
    [loss] = drawn(found(epochs(0.5, math.inf, None, 0.25))).axes

    _, shown = numbers_of(loss.lines[0])
    assert [math.isnan(value) for value in shown] == [False, True, True, False]


def test_a_restart_is_a_line_between_two_epochs() -> None:
    [loss] = drawn(found([EpochRecord(1, 1, 0.5), EpochRecord(2, 1, 0.4), EpochRecord(3, 2, 0.3)])).axes

    _, restart = loss.lines
    assert numbers_of(restart)[0] == [2.5, 2.5]
    legend = loss.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["training set", "attempt 2"]


def test_the_losses_of_both_sets_share_their_panel() -> None:
    both = [EpochRecord(1, 1, 0.5, validation_loss=0.75), EpochRecord(2, 1, 0.25, validation_loss=math.inf)]

    [loss] = drawn(found(both)).axes

    _, held_out = loss.lines
    assert held_out.get_label() == "held-out set"
    _, (first, second) = numbers_of(held_out)
    assert (first, math.isnan(second)) == (0.75, True)


def test_classes_stand_on_both_axes_and_each_cell_has_its_count() -> None:
    [panel] = drawn(found(predictions=ANIMALS)).axes

    assert [label.get_text() for label in panel.get_xticklabels()] == ["cat", "dog"]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["cat", "dog"]
    assert [text.get_text() for text in panel.texts] == ["1", "1", "0", "1"]
    assert panel.get_title() == "Held-out examples: 2 of 3 right"


def test_many_classes_are_drawn_without_their_names() -> None:
    many = Predictions(classes=[f"class {n}" for n in range(200)], labels=[0, 199], predictions=[0, 0], examples=2)

    [panel] = drawn(found(predictions=many)).axes

    assert list(panel.texts) == []


def test_a_class_with_dollars_is_no_formula() -> None:
    drawn(found(predictions=Predictions(classes=("$a^", "b$"), labels=[0], predictions=[1], examples=1)))


def test_a_regression_is_drawn_as_predictions_against_labels() -> None:
    [panel] = drawn(found(predictions=LINE)).axes

    assert (panel.get_xlabel(), panel.get_ylabel()) == ("label", "prediction")
    assert [numbers_of(line)[0] for line in panel.lines] == [[0.0, 2.0], [0.0, 2.0]]
    assert numbers_of(panel.lines[0])[1] == [1.0, 2.0]


def test_more_classes_than_a_matrix_has_room_for_are_points() -> None:
    many = Predictions(classes=["class"] * 30_000, labels=[0, 29_999], predictions=[0, 1], examples=2)

    tracemalloc.start()
    [panel] = drawn(found(predictions=many)).axes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100 * 2**20, "a matrix of 30,000 classes takes gigabytes"
    assert [numbers_of(points) for points in panel.lines] == [([0, 1], [0, 29_999])]
    assert panel.get_title() == "Held-out examples: 1 of 2 right"
