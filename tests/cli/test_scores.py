"""What predictions are worth."""

import math
from itertools import pairwise

import pytest

from qtj_contract.predictions import Predictions
from qtj_report.predictions import Errors, confusion, errors_of, finite_pairs


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
