"""The report of a job on a cluster, which the trainer stores among the artifacts."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_contract.predictions import Predictions
from qtj_trainer.report.report import StoredProgress, store_report, stored_report
from qtj_trainer.storage import Store, open_store
from tests.cli.html_page import Page
from tests.trainer.loops import Folder
from tests.trainer.processes import Trainer
from tests.trainer.test_result_stored import SHA256, record

JOB = {"QTJ_JOB": "toy", "QTJ_JOB_UID": "0123456789", "QTJ_IMAGE": "ours:1"}
INFERENCE = {**JOB, "QTJ_WEIGHTS_URI": "file:///w.h5"}
RUN = "toy-01234567"
PAGE = f"reports/{RUN}.html"


def weights(folder: Path) -> contract.Weights:
    return contract.Weights(uri=f"{folder.as_uri()}/weights/1.h5", sha256=SHA256)


def trained(store: Store, *attempts: int) -> None:
    """Stores two epochs in each attempt."""
    for number, attempt in enumerate(attempts):
        progress = StoredProgress(store, JOB, attempt)
        progress.begin()
        for epoch in (2 * number + 1, 2 * number + 2):
            progress.add(contract.Progress(epoch=epoch, epochs=4, loss=1 / epoch))
        progress.flush()


def attempts_in(store: Store) -> list[tuple[int, list[int]]]:
    """The epochs of each attempt that are stored, by its number."""
    found: dict[int, list[int]] = {}
    for line in store.read(f"reports/{RUN}.jsonl").decode().splitlines():
        with suppress(ValueError):
            found.setdefault(json.loads(line)["attempt"], []).append(json.loads(line)["epoch"])
    return list(found.items())


def page(folder: Path) -> Page:
    return Page.read(folder / PAGE)


def test_a_training_on_a_cluster_has_a_page_of_its_curve_its_attempts_and_its_options(
    store: Store, tmp_path: Path
) -> None:
    trained(store, 1, 2)
    record(tmp_path).store(store, "weights/1.h5")

    address = store_report(JOB, store, weights(tmp_path), {"loss": 0.25})

    assert address == f"{tmp_path.as_uri()}/{PAGE}"
    shown = page(tmp_path)
    assert shown.cards[0] == "Training loss0.25epoch 4 of 4"
    assert "1 to 2it ended early, and attempt 2 followed" in shown.section("Attempts")
    assert "seed" in shown.section("Options of qcnn")
    assert SHA256 in shown.section("Repeat this run")
    assert shown.section("Notes").endswith("the YAML of the job: kubectl qtj report toy --html FILE")


def test_inference_adds_its_metrics_and_predictions_to_the_page(store: Store, tmp_path: Path) -> None:
    trained(store, 1)
    store_report(JOB, store, weights(tmp_path), {"loss": 0.25})
    found = Predictions(classes=("cat", "dog"), labels=[0, 1], predictions=[0, 1], examples=2)
    store.write("weights/1.predictions.json", found.to_json().encode())

    store_report(INFERENCE, store, weights(tmp_path), {"mse": 0.125})

    shown = page(tmp_path)
    assert shown.cards[:2] == ["Training loss0.5epoch 2 of 4", "mse0.125inference"]
    assert "2 of 2 held-out examples are in the right class" in shown.section("Predictions")
    assert not shown.references + shown.mistakes


def test_artifacts_in_a_folder_with_the_suffix_of_weights_have_a_whole_page(tmp_path: Path) -> None:
    folder = tmp_path / "models.h5s"
    store = open_store(str(folder))
    trained(store, 1)
    record(folder).store(store, "weights/1.h5")
    store.write("weights/1.txt", b"(0, 0): X")

    store_report(JOB, store, weights(folder), {})

    assert "seed" in page(folder).section("Options of qcnn")
    assert "(0, 0): X" in page(folder).section("Circuit")


def test_a_page_that_cannot_be_stored_is_only_logged(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "reports").write_text("a file of the user's")

    assert store_report(JOB, store, weights(tmp_path), {"loss": 0.25}) == ""
    assert "the report is not stored: " in caplog.text
    assert (tmp_path / "reports").read_text() == "a file of the user's"


@pytest.mark.parametrize("damaged", ["weights/1.json", "weights/1.predictions.json", "reports/toy-01234567.jsonl"])
def test_damaged_artifacts_leave_a_gap_in_the_page(damaged: str, store: Store, tmp_path: Path) -> None:
    trained(store, 1)
    store.write(damaged, b'\xff{"attempt": [1], "time": 3}\n[' * 2)

    assert store_report(JOB, store, weights(tmp_path), {"loss": 0.25}) == f"{tmp_path.as_uri()}/{PAGE}"
    assert page(tmp_path).texts("h1") == ["toy • Trained"]


def test_qtj_run_and_a_training_without_a_job_get_no_page(store: Store, tmp_path: Path) -> None:
    for environment in ({"QTJ_JOB": "toy"}, {**JOB, "QTJ_PROGRESS_LOG": str(tmp_path / "progress.jsonl")}):
        progress = StoredProgress(store, environment, 1)
        progress.begin()
        progress.add(contract.Progress(epoch=1))
        progress.flush()

        assert store_report(environment, store, weights(tmp_path), {}) == ""
        assert stored_report(environment, store) == ""
    assert not (tmp_path / "reports").exists()


def test_a_loop_of_a_job_and_its_inference_report_the_address_of_their_page(job: Folder) -> None:
    environment = {"QTJ_JOB": "toy", "QTJ_JOB_UID": "0123456789"}

    ended = job.run(**environment)

    assert ended.message is not None
    assert ended.message.report == f"{(job.path / 'artifacts').as_uri()}/{PAGE}"
    assert "epoch 6 of 6" in page(job.path / "artifacts").cards[0]

    again = job.run(**environment)
    inferred = job.run(**environment, QTJ_WEIGHTS_URI=ended.weights.uri, QTJ_WEIGHTS_SHA256=ended.weights.sha256)

    assert [each.message.report for each in (again, inferred) if each.message] == [ended.message.report] * 2
    card = page(job.path / "artifacts").cards[1]
    assert (card[:4], card[-9:]) == ("mean", "inference")


def test_a_workload_of_a_job_has_all_its_epochs_on_its_page(trainer: Trainer, tmp_path: Path) -> None:
    options = ("--epochs=2", "--examples=100", "--batch-size=20")

    ended = trainer.start(
        "train", "linear-regression", *options, **JOB, QTJ_ARTIFACTS_URI=tmp_path.as_uri(), QTJ_ATTEMPT="1"
    ).end()

    assert ended.message is not None, ended.errors
    assert ended.message.report == f"{tmp_path.as_uri()}/{PAGE}"
    shown = page(tmp_path)
    assert "epoch 2 of 2" in shown.cards[0]
    assert "batch_size20" in shown.section("Options of linear-regression")
    assert "tensorflow" in shown.section("Versions")


def test_a_job_that_is_created_again_has_all_its_epochs_on_its_page(store: Store, tmp_path: Path) -> None:
    """With `reusePolicy: SameSpec` it continues the record of the job before, and counts its attempts from 1 again."""
    trained(store, 1, 2, 1)

    store_report(JOB, store, weights(tmp_path), {})

    shown = page(tmp_path)
    assert shown.cards[0] == "Training loss0.1667epoch 6 of 4"
    assert [row[0] for row in attempts_in(store)] == [1, 2, 3]
    assert "5 to 6the weights are stored" in shown.section("Attempts")


def test_a_record_whose_end_is_damaged_loses_no_later_epoch(store: Store) -> None:
    store.write(f"reports/{RUN}.jsonl", b'{"attempt": 1, "epoch"')

    trained(store, 2)

    assert attempts_in(store) == [(2, [0, 1, 2])]


def test_an_attempt_that_was_stopped_leaves_its_epochs_to_the_next(job: Folder) -> None:
    environment = {"QTJ_JOB": "toy", "QTJ_JOB_UID": "0123456789"}
    kill = "(os.kill(os.getpid(), signal.SIGTERM), time.sleep(1))"  # it is a thread that takes the signal
    stop = f"import os, signal, time; epoch.number == 2 and step == 9 and {kill}"
    assert job.run(stop, **environment).code == 143

    job.run(**environment, QTJ_ATTEMPT="2")

    lines = (job.path / "artifacts/reports/toy-01234567.jsonl").read_text().splitlines()
    epochs = [(each["attempt"], each["epoch"]) for each in map(json.loads, lines)]
    last = max(epoch for attempt, epoch in epochs if attempt == 1)
    assert epochs == [*((1, epoch) for epoch in range(last + 1)), (2, 0), *((2, epoch) for epoch in range(last + 1, 7))]
    assert 1 <= last < 6
    assert datetime.fromisoformat(json.loads(lines[0])["time"]) <= datetime.now(UTC)
