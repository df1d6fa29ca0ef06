"""Numbers of an epoch that have no field of their own: a program's own metrics, by the names that it gave them."""

import json
import math
from datetime import UTC, datetime

import pytest

from qtj_contract import Progress
from qtj_contract.progress import MOST_SCORES, PROGRESS_LIMIT
from qtj_contract.progress_log import progress_line, read_progress
from qtj_report.picture import training_charts

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_they_come_back() -> None:
    progress = Progress(epoch=1, scores={"val_auc": 0.5, "fidelity": -1e300})

    assert Progress.parse(progress.to_json()) == progress


def test_what_is_no_finite_number_is_left_out() -> None:
    told = Progress(epoch=1, scores={"a": math.nan, "b": math.inf, "c": 2}).to_dict()

    assert told["scores"] == {"c": 2}
    assert "scores" not in Progress(epoch=1, scores={"a": math.nan}).to_dict()


@pytest.mark.parametrize("raw", [None, [], 3, "x", {"a": {}}, {"a": "1e999"}, {"a": None}])
def test_what_another_program_says_cannot_hurt(raw: object) -> None:
    found = Progress.parse(json.dumps({"epoch": 1, "scores": raw}))

    assert found == Progress(epoch=1)


def test_many_and_long_ones_fit_into_an_answer() -> None:
    many = {f"{chr(0x1F600)}{number}" + "ü" * 500: math.pi for number in range(500)}

    answer = Progress(epoch=1, scores=many).to_json()

    assert len(json.loads(answer)["scores"]) == MOST_SCORES
    assert len(answer.encode()) < PROGRESS_LIMIT / 2


def test_two_writers_of_an_epoch_add_up() -> None:
    lines = [progress_line(Progress(epoch=1, loss=0.5, scores=each), 1, NOON) for each in ({"a": 1.0}, {"b": 2.0})]

    [epoch] = read_progress("".join(lines)).epochs

    assert epoch.scores == {"a": 1.0, "b": 2.0}


def test_each_has_a_chart_with_both_sets() -> None:
    told = [Progress(epoch=k, loss=1 / k, scores={"auc": 0.5, "val_auc": 0.25 * k, "fidelity": 0.1}) for k in (1, 2)]
    epochs = read_progress("".join(progress_line(each, 1, NOON) for each in told)).epochs

    charts = list(training_charts(epochs))

    texts = ["".join(chart.figure.itertext()) for chart in charts]
    assert [title for title in ("Loss", "auc", "fidelity") if any(title in text for text in texts)] == [
        "Loss", "auc", "fidelity",
    ]  # fmt: skip
    assert len(charts) == 3
    [auc] = [text for text in texts if "auc" in text]
    assert "training set" in auc
    assert "held-out set" in auc
