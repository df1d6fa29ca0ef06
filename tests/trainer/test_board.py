"""What TensorBoard reads."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.plugin_event_accumulator import TENSORS, EventAccumulator

from qtj_trainer.storage import open_store
from qtj_trainer.stored.position import Epoch, Gradient
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.tensorboard.event_files import Board
from tests.trainer.events import counts, read, values
from tests.trainer.processes import Trainer

WEIGHTS = {"line/kernel": np.array([[0.5], [-0.5]], np.float32), "line/bias": np.array([0.25], np.float32)}


def epoch(number: int) -> Epoch:
    return Epoch(
        number=number,
        step=7 * number,
        loss=1 / number,
        scores={"mse": 0.25, "signAccuracy": 0.5},
        examples_per_second=100.0,
        gradients={"expectation/angles": Gradient(mean=0.01 * number, variance=0.5 / number)},
        validation_loss=2 / number,
        training_scores={"mse": 0.125, "signAccuracy": 0.75},
        learning_rate=0.5**number,
        gradient_norm=3.0 / number,
    )


@dataclass(frozen=True)
class Curves:
    """What a training of two epochs has written."""

    train: EventAccumulator
    validation: EventAccumulator


@pytest.fixture
def curves(tmp_path: Path) -> Curves:
    with Board(open_store(str(tmp_path)), "uid-1", attempt=3) as board:
        for number in (1, 2):
            board.show(epoch(number), {"expectation": np.linspace(-1, 1, 20 * number)}, WEIGHTS)
    return Curves(read(tmp_path / "logs/uid-1/train"), read(tmp_path / "logs/uid-1/validation"))


def test_curves_are_drawn_at_optimizer_steps(curves: Curves) -> None:
    assert values(curves.train, "loss") == [(7, 1.0), (14, 0.5)]
    assert values(curves.train, "optimizer/learning_rate") == [(7, 0.5), (14, 0.25)]
    assert values(curves.train, "optimizer/gradient_norm") == [(7, 3.0), (14, 1.5)]
    assert values(curves.train, "run/examples_per_second") == [(7, 100.0), (14, 100.0)]
    assert values(curves.train, "run/attempt") == [(7, 3), (14, 3)]
    assert values(curves.train, "optimizer/gradient_variance/expectation/angles") == [(7, 0.5), (14, 0.25)]


def test_the_loss_comes_before_what_is_not_about_the_result(curves: Curves) -> None:
    """TensorBoard sorts curves by name."""
    before = [name for name in sorted(curves.train.Tags()["tensors"]) if name < "loss"]

    assert set(before) <= set(epoch(1).training_scores)


def test_training_and_held_out_set_share_their_charts(curves: Curves) -> None:
    assert values(curves.validation, "loss") == [(7, 2.0), (14, 1.0)]
    assert values(curves.train, "signAccuracy") == [(7, 0.75), (14, 0.75)]
    assert values(curves.validation, "signAccuracy") == [(7, 0.5), (14, 0.5)]


def test_what_was_not_measured_is_not_drawn(tmp_path: Path) -> None:
    with Board(open_store(str(tmp_path)), "uid-1") as board:
        board.show(Epoch(1, 7, 0.5, {}, 100.0), {}, {})

    assert "loss" not in read(tmp_path / "logs/uid-1/validation").Tags()[TENSORS]


def test_readouts_are_counted_at_the_step_they_belong_to(curves: Curves) -> None:
    assert [step for step, _ in values(curves.train, "readouts/expectation")] == [7, 14]
    assert counts(curves.train, "readouts/expectation") == [20, 40]


def test_weights_are_histograms_and_a_single_one_is_a_curve(curves: Curves) -> None:
    assert counts(curves.train, "weights/line/kernel") == [2, 2]
    assert values(curves.train, "weights/line/bias") == [(7, 0.25), (14, 0.25)]


def test_of_very_many_weights_a_histogram_counts_some(tmp_path: Path) -> None:
    with Board(open_store(str(tmp_path)), "uid-1") as board:
        board.show(epoch(1), {}, {"dense/kernel": np.ones((3, 100_000)), "none/kernel": np.ones((0, 3))})

    assert counts(read(tmp_path / "logs/uid-1/train"), "weights/dense/kernel") == [100_000]


def test_a_histogram_has_the_buckets_of_tensorflow(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    with Board(open_store(str(tmp_path)), "uid-1") as board:
        board.show(epoch(1), {"expectation": numbers}, {})
    writer = tf.summary.create_file_writer(str(tmp_path / "theirs"))
    with writer.as_default(7):
        tf.summary.histogram("readouts/expectation", numbers)
    writer.close()

    [(_, ours)] = values(read(tmp_path / "logs/uid-1/train"), "readouts/expectation")
    [(_, theirs)] = values(read(tmp_path / "theirs"), "readouts/expectation")
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_not_finite_are_drawn_without_a_warning(tmp_path: Path, number: float) -> None:
    given = {"line": np.array([number, -number, 1.0])}
    with Board(open_store(str(tmp_path)), "uid-1") as board:
        board.show(epoch(1), given, given)

    assert len(counts(read(tmp_path / "logs/uid-1/train"), "weights/line")) == 1


def folders(artifacts: Path) -> list[Path]:
    return sorted((artifacts / "logs").iterdir())


def test_runs_without_a_job_do_not_mix_their_curves(tmp_path: Path) -> None:
    for _ in range(2):
        with Board(open_store(str(tmp_path)), run_name({})) as board:
            board.show(epoch(1), {}, {})

    first, second = folders(tmp_path)
    assert all(folder.name.startswith("local-2") for folder in (first, second))
    assert [len(values(read(folder / "train"), "loss")) for folder in (first, second)] == [1, 1]


def test_the_line_of_a_linear_regression_is_shown(trainer: Trainer, tmp_path: Path) -> None:
    ended = trainer.run("train", "linear-regression", "--epochs", "2", "--artifacts", str(tmp_path))

    assert ended.code == 0, ended.errors
    [folder] = folders(tmp_path)
    events = read(folder / "train")
    assert len(values(events, "weights/line/bias")) == 2
    assert counts(events, "weights/line/kernel") == [4, 4]
    assert counts(events, "readouts/prediction") == [200, 200]
    assert not [name for name in events.Tags()["tensors"] if name.startswith("step/")], "--log-every asks for these"


@pytest.mark.parametrize(("role", "size"), [("workers", 2), pytest.param("devices", 3, marks=pytest.mark.slow)])
def test_histograms_have_the_examples_of_all_replicas(trainer: Trainer, tmp_path: Path, role: str, size: int) -> None:
    environment = {"QTJ_DEVICES": str(size)} if role == "devices" else {}
    small = ("train", "qcnn", "--qubits", "4", "--rounds", "8", "--epochs", "1", "--filters", "2", "--batch-size", "4")

    ended = trainer.run_cluster(
        size if role == "workers" else 1, *small, "--artifacts", str(tmp_path), QTJ_JOB_UID="uid-1", **environment
    )

    assert {each.code for each in ended} == {0}, ended[0].errors
    events = read(tmp_path / "logs/uid-1/train")
    # 10 held-out examples, the last 2 of which leave a replica without any; 2 of 4 qubits are read.
    assert counts(events, "readouts/expectation_0") == counts(events, "readouts/expectation_1") == [20]
