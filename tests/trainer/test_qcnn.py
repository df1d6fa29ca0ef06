"""Data, options and scores of the QCNN."""

from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.workloads.qcnn import Model, Qcnn, QcnnOptions

QCNN = Qcnn()


def test_more_qubits_than_an_engine_numbers_are_refused_before_memory_is_taken() -> None:
    with pytest.raises(UserError, match=r"^40 qubits are too many for the fused engine, .*: lower --qubits$"):
        QCNN.model(QcnnOptions(qubits=40))


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
        ({"qubits": 3}, "--qubits is 3: it must be at least 4 and at most 40"),
        ({"learning_rate": 0.0}, "--learning-rate is 0.0: it must be above 0 and at most 10"),
        ({"batch_size": 0}, "--batch-size is 0: it must be at least 1"),
    ],
)
def test_an_impossible_option_is_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        QcnnOptions(**given)


def test_a_pure_model_has_no_filters() -> None:
    with pytest.raises(UserError, match="--filters is 2 and --model is pure: only the hybrid model has filters"):
        QcnnOptions(model=Model.PURE, filters=2)


def test_a_filter_is_a_separate_circuit_beside_the_first() -> None:
    one, three = (QCNN.model(QcnnOptions(qubits=5, filters=filters)) for filters in (1, 3))

    sizes = [[tuple(each.shape) for each in model.get_weights()] for model in (one, three)]
    angles = three.get_weights()[:3]

    assert sizes[0] == [(21,), (3, 8), (8,), (8, 1), (1,)]
    assert sizes[1] == [(21,), (21,), (21,), (9, 8), (8,), (8, 1), (1,)]
    np.testing.assert_array_equal(angles[0], one.get_weights()[0])
    assert not np.array_equal(angles[0], angles[1])


def test_a_pure_model_answers_with_one_expectation_value() -> None:
    model = QCNN.model(QcnnOptions(model=Model.PURE, qubits=5))

    answers = model(np.zeros((2, 5), np.float32)).numpy()

    assert [tuple(each.shape) for each in model.get_weights()] == [(3 * 21,)]
    assert answers.shape == (2,)
    assert np.all(np.abs(answers) <= 1)


def test_the_drawing_is_as_narrow_as_the_circuit_has_qubits() -> None:
    drawing = QCNN.drawing(QcnnOptions())

    assert drawing.splitlines()[0].split() == [str(qubit) for qubit in range(8)]
    assert "convolution14" in drawing


def test_the_states_of_filters_are_there_once_and_kept_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    memory = QCNN.memory(QcnnOptions(qubits=23, filters=3, batch_size=8), replicas=2)

    assert memory.states == 3 * 64 * 2**20
    assert memory.keepable == 3 * 4 * 64 * 2**20


def test_options_of_another_version_are_refused() -> None:
    with pytest.raises(UserError, match="shots"):
        QcnnOptions.from_record({"shots": 3, "epochs": 1, "batch_size": 1, "learning_rate": 1, "seed": 1})


def test_a_circuit_of_another_size_has_another_fingerprint() -> None:
    assert QCNN.fingerprint(QcnnOptions()) == QCNN.fingerprint(QcnnOptions(seed=3))
    others = [QcnnOptions(qubits=6), QcnnOptions(filters=2), QcnnOptions(model=Model.PURE)]
    assert len({QCNN.fingerprint(each) for each in [QcnnOptions(), *others]}) == 4
