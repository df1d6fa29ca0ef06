"""Each epoch is recorded if a file is named, and is in the log once."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_contract.progress_log import read_progress
from qtj_trainer.program.session import show_log
from qtj_trainer.stored.position import Epoch
from qtj_trainer.stored.progress_log import epoch_line, log_progress

PROGRESS = contract.Progress(epoch=3, epochs=9, step=21, loss=0.5, accuracy=0.75)


@pytest.fixture
def package_log() -> Iterator[logging.Logger]:
    """The log of the trainer, put back as it was."""
    log = logging.getLogger("qtj_trainer")
    handlers, level = list(log.handlers), log.level
    log.handlers, log.level = [], logging.NOTSET
    yield log
    log.handlers, log.level = handlers, level


def show(monkeypatch: pytest.MonkeyPatch, *, leads: bool) -> None:
    """Shows the log in a program that has not set up logging, as the test framework has by now."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    show_log(leads=leads)


@pytest.mark.parametrize(("attempt", "number"), [("2", 2), ("", 1), ("two", 1), ("-1", 1)])
def test_an_epoch_is_recorded_with_its_attempt(tmp_path: Path, attempt: str, number: int) -> None:
    path = tmp_path / "progress.jsonl"

    log_progress({"QTJ_PROGRESS_LOG": str(path), "QTJ_ATTEMPT": attempt}, PROGRESS)

    [epoch] = read_progress(path.read_text()).epochs
    assert (epoch.attempt, epoch.number, epoch.loss, epoch.accuracy) == (number, 3, 0.5, 0.75)


def test_an_epoch_is_recorded_with_the_time_of_its_end(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"

    log_progress({"QTJ_PROGRESS_LOG": str(path)}, PROGRESS)

    written = datetime.fromisoformat(path.read_text().partition('"time": "')[2].partition('"')[0])
    assert abs(datetime.now(UTC) - written) < timedelta(minutes=5)


@pytest.mark.parametrize("named", ["nowhere/progress.jsonl", "folder"])
def test_a_record_that_cannot_be_written_ends_no_training(tmp_path: Path, named: str) -> None:
    (tmp_path / "folder").mkdir()

    log_progress({"QTJ_PROGRESS_LOG": str(tmp_path / named)}, PROGRESS)

    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_without_the_variable_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    log_progress({"QTJ_ATTEMPT": "1"}, PROGRESS)

    assert list(tmp_path.iterdir()) == []


def test_the_number_of_an_epoch_has_as_many_columns_as_the_last_one() -> None:
    assert epoch_line(Epoch(3, 21, 0.5, {"mse": 0.25}, 10.0), 100) == "  3/100  loss 0.5000  mse 0.2500"
    assert epoch_line(Epoch(3, 21, float("nan"), {}, 10.0), 3) == "3/3"


def test_a_leader_logs_everything_and_the_others_only_warnings(
    package_log: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, leads=True)
    package_log.info("epoch 1")
    package_log.handlers = []
    show(monkeypatch, leads=False)
    package_log.info("epoch 2")
    package_log.warning("the checkpoints stay")

    assert capsys.readouterr().err == "epoch 1\nthe checkpoints stay\n"


def test_a_level_that_the_program_has_chosen_stays(
    package_log: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package_log.setLevel(logging.ERROR)

    show(monkeypatch, leads=True)
    package_log.info("epoch 1")
    package_log.error("broken")

    assert capsys.readouterr().err == "broken\n"


def test_a_program_that_sets_up_logging_later_on_has_no_line_twice(
    package_log: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, leads=True)
    own = logging.StreamHandler()
    own.setFormatter(logging.Formatter("mine: %(message)s"))
    logging.getLogger().handlers.append(own)

    package_log.info("epoch 1")

    assert capsys.readouterr().err == "mine: epoch 1\n"
