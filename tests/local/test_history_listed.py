"""The list of a job's runs by itself: what counts as a run, which is the last, and where the next one is."""

import json
from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder, FolderError
from qtj.local.history import INTERRUPTED, History, Run, phase_of
from tests.local.records import record

RECORD = record(phase="Complete")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "qtj-artifacts")


def begun(folder: Folder) -> Folder:
    """Makes a folder that of a run which is over."""
    folder.claim()
    folder.save(RECORD)
    folder.release()
    return folder


def numbers(history: History, job: str = "toy") -> list[int]:
    return [run.number for run in history.runs(job)]


def test_without_any_run_there_is_nothing_and_the_first_is_number_one(history: History) -> None:
    assert (history.jobs(), history.runs("toy"), history.latest("toy")) == ([], [], None)
    assert history.next_folder("toy").path == history.root / "toy/1"
    assert not history.root.exists(), "looking makes nothing"


def test_runs_are_in_the_order_of_their_numbers(history: History) -> None:
    for _ in range(11):
        begun(history.make_folder("toy"))

    assert numbers(history) == list(range(1, 12))
    assert history.runs("toy")[-1].name == "toy/11"


def test_a_number_is_not_given_again_while_a_later_one_is_there(history: History) -> None:
    for _ in range(3):
        begun(history.make_folder("toy"))
    for path in (history.root / "toy/2").iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    (history.root / "toy/2").rmdir()

    assert numbers(history) == [1, 3]
    assert history.make_folder("toy").path.name == "4"


@pytest.mark.parametrize("name", ["0", "01", "1a", "-1", "x", "٣", "1.0", ".1"])
def test_a_folder_of_another_name_is_no_run(history: History, name: str) -> None:
    begun(Folder(history.root / "toy" / name))

    assert numbers(history) == []
    assert history.next_folder("toy").path.name == "1"


def test_a_folder_of_somebody_else_is_no_run_and_keeps_its_number(history: History) -> None:
    (history.root / "toy/1").mkdir(parents=True)
    (history.root / "toy/1/thesis.tex").touch()

    assert (history.jobs(), numbers(history)) == ([], [])
    assert history.make_folder("toy").path.name == "2"


def test_jobs_are_listed_by_name(history: History) -> None:
    for job in ("b", "a"):
        begun(history.make_folder(job))
    (history.root / "empty").mkdir()
    (history.root / "file").touch()

    assert history.jobs() == ["a", "b"]


def test_the_last_run_is_the_last_that_has_begun(history: History) -> None:
    begun(history.make_folder("toy"))
    unbegun = history.make_folder("toy")
    unbegun.claim()
    latest = history.latest("toy")
    assert latest is not None
    assert latest.number == 2, "one that is under way counts"

    unbegun.release()
    latest = history.latest("toy")

    assert latest is not None
    assert (latest.number, latest.has_begun) == (1, True)
    assert numbers(history) == [1, 2]


def test_a_run_elsewhere_is_listed_once_and_knows_its_name(history: History, tmp_path: Path) -> None:
    mine = begun(Folder(tmp_path / "mine"))

    history.link("toy", mine)
    history.link("toy", mine)

    [run] = history.runs("toy")
    assert (run.name, run.is_elsewhere, run.folder.path) == ("toy/1", True, mine.path)
    assert history.name_of("toy", mine) == "toy/1"
    assert history.name_of("toy", Folder(tmp_path / "other")) == "toy"


def test_a_run_here_is_not_elsewhere(history: History) -> None:
    begun(history.make_folder("toy"))

    assert [run.is_elsewhere for run in history.runs("toy")] == [False]


def test_a_run_whose_folder_is_gone_is_not_listed_and_its_number_is_not_taken(history: History, tmp_path: Path) -> None:
    (history.root / "toy").mkdir(parents=True)
    (history.root / "toy/1").symlink_to(tmp_path / "gone")

    assert numbers(history) == []
    assert history.make_folder("toy").path.name == "2"


@pytest.mark.parametrize("target", ["1", "/" + "x" * 300])
def test_a_link_to_itself_or_to_no_path_is_no_run_and_no_crash(history: History, target: str) -> None:
    (history.root / "toy").mkdir(parents=True)
    link = history.root / "toy/1"
    link.symlink_to(target)

    assert Run("toy", 1, link).folder.path in {link, Path(target)}
    assert numbers(history) == []


def test_where_nothing_can_be_written_a_run_is_a_sentence_and_a_link_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    history = History(tmp_path / "file")

    with pytest.raises(FolderError, match=r"^cannot write to .*file/toy \(Not a directory\): go to a folder that can"):
        history.make_folder("toy")
    history.link("toy", Folder(tmp_path / "mine"))

    assert (history.jobs(), history.runs("toy")) == ([], [])


def test_a_run_that_is_made_at_the_same_moment_gets_the_next_number(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(history.make_folder("toy"))
    monkeypatch.setattr(Path, "iterdir", lambda _: iter(()))  # as it was when both of them looked

    assert history.make_folder("toy").path.name == "2"


@pytest.mark.parametrize(
    ("status", "is_active", "phase"),
    [
        ({"phase": "Complete"}, False, "Complete"), ({"phase": "Failed"}, False, "Failed"),
        ({"phase": "Running"}, False, INTERRUPTED), ({"phase": "Running"}, True, "Running"),
        ({}, False, INTERRUPTED), ({}, True, "Pending"), (None, True, "Pending"),
    ],
)  # fmt: skip
def test_a_run_that_is_over_before_its_job_was_interrupted(
    status: dict[str, Any] | None, *, is_active: bool, phase: str
) -> None:
    assert phase_of({**RECORD, "status": status}, is_active=is_active) == phase


def test_a_record_that_is_damaged_does_not_hide_a_run(history: History) -> None:
    folder = begun(history.make_folder("toy"))
    (folder.path / "job.json").write_text(json.dumps([]))

    latest = history.latest("toy")

    assert latest is not None
    assert latest.name == "toy/1"
