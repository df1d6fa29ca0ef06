"""Data, options and scores of the QCNN."""

from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

QCNN = Qcnn()


def test_the_same_seed_makes_the_same_examples() -> None:
    first, second = (QCNN.split(QcnnOptions(seed=5)) for _ in range(2))

    for part in ("training", "held_out"):
        for name, column in getattr(first, part).items():
            np.testing.assert_array_equal(column, getattr(second, part)[name])


def test_another_seed_makes_other_examples() -> None:
    first, second = (QCNN.split(QcnnOptions(seed=seed)) for seed in (0, 1))

    assert not np.array_equal(first.training["theta"], second.training["theta"])


def test_160_examples_are_split_112_to_48() -> None:
    split = QCNN.split(QcnnOptions())

    assert [len(part["label"]) for part in (split.training, split.held_out)] == [112, 48]
    assert [len(np.unique(part["qubit"])) for part in (split.training, split.held_out)] == [8, 8]


def test_a_turn_of_more_than_a_quarter_is_an_excitation() -> None:
    examples = QCNN.split(QcnnOptions(rounds=100)).training

    assert np.all(np.abs(examples["theta"]) <= np.pi)
    np.testing.assert_array_equal(examples["label"], np.where(np.abs(examples["theta"]) <= np.pi / 2, 1, -1))
    assert 0.4 < np.mean(examples["label"] > 0) < 0.6


def test_an_example_turns_its_own_qubit() -> None:
    options = QcnnOptions(qubits=4)
    columns = {"theta": np.array([0.5, -1.0]), "qubit": np.array([2, 0]), "label": np.array([1, 1])}

    examples = QCNN.encode(columns, options)

    np.testing.assert_array_equal(examples.inputs, np.array([[0, 0, 0.5, 0], [-1, 0, 0, 0]], np.float32))


def test_sign_accuracy_counts_signs() -> None:
    labels = np.array([1, 1, -1, -1], np.float32)

    score = QCNN.score(labels, np.array([0.1, -2, -0.3, 0], np.float32))

    np.testing.assert_array_equal(score["signAccuracy"], [1, 0, 1, 0])
    np.testing.assert_allclose(score["mse"], [0.81, 9, 0.49, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"qubits": 3}, "--qubits is 3: it must be at least 4 and at most 30"),
        ({"learning_rate": 0.0}, "--learning-rate is 0.0: it must be above 0 and at most 10"),
        ({"batch_size": 0}, "--batch-size is 0: it must be at least 1"),
    ],
)
def test_an_impossible_option_is_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        QcnnOptions(**given)


def test_options_of_another_version_are_refused() -> None:
    with pytest.raises(UserError, match="filters"):
        QcnnOptions.from_record({"filters": 3, "epochs": 1, "batch_size": 1, "learning_rate": 1, "seed": 1})


def test_a_circuit_of_another_size_has_another_fingerprint() -> None:
    assert QCNN.fingerprint(QcnnOptions()) == QCNN.fingerprint(QcnnOptions(seed=3))
    assert QCNN.fingerprint(QcnnOptions()) != QCNN.fingerprint(QcnnOptions(qubits=6))
