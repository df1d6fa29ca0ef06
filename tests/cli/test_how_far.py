"""How far a run is: `qtj list`, `qtj status` and `qtj report` agree."""

from pathlib import Path

import pytest

from tests.cli.qtj import qtj
from tests.cli.test_report import Left


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    monkeypatch.chdir(tmp_path)
    return Left(tmp_path)


def epoch_in(left: Left) -> str:
    """Returns what the status says, after a look at whether the list says the same."""
    left.record(left.status)
    said = next(line.split()[1] for line in qtj("status", "own").output.splitlines() if line.startswith("epoch"))
    listed = qtj("list").output.splitlines()
    begin = listed[0].index("EPOCH")
    assert listed[1][begin:].split()[0] == said
    return said


def test_before_the_first_epoch_is_done_none_of_them_is(left: Left) -> None:
    left.status |= {"phase": "Running", "progress": {"epoch": 0, "epochs": 4, "loss": 1.0}}

    assert epoch_in(left) == "0/4"
    assert left.report()[1:] == [
        "epochs         none recorded yet",
        "loss           1 in the first epoch, which is not done",
        f"page: {left.page}",
        "picture: none, because no epoch with a finite loss and no finite prediction is recorded",
    ]


def test_an_epoch_that_the_program_has_recorded_after_the_last_poll_counts(left: Left) -> None:
    left.status |= {"progress": {"epoch": 3, "epochs": 4, "loss": 0.5}}
    left.epochs(4, 3, 2, 1)

    assert epoch_in(left) == "4/4"
    assert "epochs         4 of 4" in left.report()
    assert "loss        1\n" in qtj("status", "own").output


def test_epochs_of_an_earlier_attempt_are_not_those_of_one_that_repeats_them(left: Left) -> None:
    left.status |= {"phase": "Running", "attempt": 2, "progress": {"epoch": 1, "epochs": 4}}
    left.epochs(4, 3, 2, attempt=1)

    assert epoch_in(left) == "1/4"
