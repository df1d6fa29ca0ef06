"""The last message of a process, with and without a kubelet that reads it."""

from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_trainer.errors import TryAgainError
from qtj_trainer.replica.termination import write_message

MESSAGE = contract.TerminationMessage(error="something is wrong: correct it")


def test_the_message_is_written_where_the_environment_names_a_file(tmp_path: Path) -> None:
    write_message({"QTJ_TERMINATION_LOG": str(tmp_path / "log")}, MESSAGE)

    assert contract.TerminationMessage.parse((tmp_path / "log").read_text()) == MESSAGE


def test_a_later_message_replaces_an_earlier_one(tmp_path: Path) -> None:
    for error in ("the first one, which is longer", "the second"):
        write_message({"QTJ_TERMINATION_LOG": str(tmp_path / "log")}, contract.TerminationMessage(error=error))

    assert (tmp_path / "log").read_text() == '{"error": "the second"}'


@pytest.mark.parametrize("named", ["folder", "file/below", "nowhere/log"])
def test_a_message_that_cannot_be_left_is_no_failure(tmp_path: Path, named: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    write_message({"QTJ_TERMINATION_LOG": str(tmp_path / named)}, MESSAGE)

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_message_with_weights_that_cannot_be_written_asks_for_another_run(tmp_path: Path) -> None:
    weights = contract.Weights(uri="gs://b/w", sha256="0" * 64)

    with pytest.raises(TryAgainError, match=r"the termination message cannot be written to .*: make room on the node"):
        write_message({"QTJ_TERMINATION_LOG": str(tmp_path)}, contract.TerminationMessage(weights=weights))


@pytest.mark.parametrize("is_pod", [True, False])
def test_without_the_variable_the_message_is_written_only_in_a_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_pod: bool
) -> None:
    log = tmp_path / "termination-log"
    if is_pod:
        log.touch()  # as a kubelet mounts it
    monkeypatch.setattr(contract, "TERMINATION_MESSAGE_PATH", str(log))

    write_message({}, MESSAGE)

    assert log.exists() is is_pod
    assert not is_pod or contract.TerminationMessage.parse(log.read_text()) == MESSAGE
