"""The folder of a run by itself: whose it is, and who has it."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from qtj.local.folder import Folder, FolderError
from tests.local.records import record


def test_a_folder_is_taken_by_one_run_until_it_lets_go(folder: Folder) -> None:
    other = Folder(folder.path)

    with pytest.raises(FolderError, match=r"^another qtj run uses .*: wait for its end, or stop it with qtj"):
        other.claim()
    assert (folder.is_active, other.lock) == (True, None)

    folder.release()

    assert (folder.is_active, other.is_active) == (False, False)
    other.claim()
    assert other.is_active
    other.release()


def test_the_mark_says_where_the_artifacts_are_and_what_the_configs_were(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.claim(bucket="gs://bucket/toy", configs={"ConfigMap/colors": "1f3c"})

    assert Folder(tmp_path).bucket == "gs://bucket/toy"
    assert Folder(tmp_path).configs == {"ConfigMap/colors": "1f3c"}
    folder.release()


def test_a_later_mark_replaces_a_longer_one(folder: Folder) -> None:
    folder.release()
    folder.claim(bucket="gs://a-bucket-with-a-very-long-name/and/a/path")
    folder.release()
    folder.claim(bucket="gs://b")

    assert Folder(folder.path).bucket == "gs://b"
    assert json.loads((folder.path / ".qtj-run").read_text())["folder"] == str(folder.path)


@pytest.mark.parametrize("mark", ["", "{", "[]", "null", '{"artifacts": 5, "configs": "x"}'])
def test_a_damaged_mark_keeps_the_folder_ours_and_says_nothing(tmp_path: Path, mark: str) -> None:
    (tmp_path / ".qtj-run").write_text(mark)
    folder = Folder(tmp_path)

    assert (folder.is_ours, folder.bucket, folder.configs) == (True, None, None)


def test_a_folder_with_files_and_without_a_mark_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    assert Folder(tmp_path).is_foreign
    assert not Folder(tmp_path / "nowhere").is_foreign
    assert not Folder(tmp_path / "thesis.tex").is_foreign, "claim() has the sentence for it"


def test_a_claimed_folder_is_not_foreign_and_not_used_before_it_has_a_record(folder: Folder) -> None:
    assert (folder.is_foreign, folder.is_used, folder.changed, folder.version) == (False, False, 0.0, None)

    folder.save(record())

    assert folder.is_used


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.touch(), "it is not a folder"),
        (lambda path: path.symlink_to("run"), "Too many levels of symbolic links|it is not a folder"),
        (lambda path: (path.mkdir(), (path / "logs").touch()), "it is not a folder"),
        (lambda path: (path.mkdir(), (path / ".qtj-run").mkdir()), "Is a directory"),
        (lambda path: (path.mkdir(), (path / ".qtj-run").symlink_to("/etc/passwd")), "Too many levels of .*"),
    ],
)
def test_what_cannot_be_a_folder_of_a_run_is_a_sentence(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(tmp_path / "run")

    with pytest.raises(FolderError, match=rf"^cannot write to .*/run \(({why})\): name another folder"):
        Folder(tmp_path / "run").claim()


def test_a_path_with_a_nul_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"^cannot write to .*null.*: name another folder with --artifacts$"):
        Folder(tmp_path / "a\0b").claim()


def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(FolderError, match=r"^there are no locks in .* \(Operation not supported\): work on another"):
        Folder(tmp_path / "run").claim()
    assert Folder(tmp_path / "run").lock is None


@pytest.mark.parametrize("said", [["run.log"], []])
def test_a_run_that_never_began_leaves_no_folder(folder: Folder, said: list[str]) -> None:
    for name in said:
        (folder.path / name).touch()

    folder.give_up()

    assert not folder.path.exists()
    assert folder.lock is None


def test_a_run_with_a_record_is_not_given_up(folder: Folder) -> None:
    folder.save(record())

    folder.give_up()

    assert folder.load() == record()
    assert not folder.is_active


def test_files_of_somebody_else_are_not_given_up(folder: Folder) -> None:
    (folder.path / "thesis.tex").touch()

    folder.give_up()

    assert (folder.path / "thesis.tex").exists()


def test_a_stop_is_asked_for_once_and_a_kill_is_more_than_a_stop(folder: Folder) -> None:
    assert (folder.is_to_stop, folder.is_to_stop_at_once) == (False, False)

    folder.ask_to_stop(at_once=False)
    assert (folder.is_to_stop, folder.is_to_stop_at_once) == (True, False)

    folder.ask_to_stop(at_once=True)
    assert (folder.is_to_stop, folder.is_to_stop_at_once) == (True, True)

    folder.clear_stop_request()
    folder.clear_stop_request()
    assert (folder.is_to_stop, folder.is_to_stop_at_once) == (False, False)


def test_what_an_earlier_run_was_asked_for_does_not_stop_the_next(folder: Folder) -> None:
    folder.ask_to_stop(at_once=True)
    folder.release()

    folder.claim()

    assert not folder.is_to_stop


def test_a_run_that_is_gone_cannot_be_asked_to_stop(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"^cannot write to .*gone \(No such file or directory\)"):
        Folder(tmp_path / "gone").ask_to_stop(at_once=False)


def test_the_folder_of_a_run_may_lie_deeper_than_anything_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a/b/c")

    folder.claim()

    assert folder.is_ours
    folder.release()


def test_the_lock_of_a_folder_without_a_run_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Folder(tmp_path).take()

    assert list(tmp_path.iterdir()) == []


def test_others_may_read_the_mark_and_not_write_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = Folder(tmp_path)
        folder.claim()
    finally:
        os.umask(before)

    assert (tmp_path / ".qtj-run").stat().st_mode & 0o777 == 0o644
    folder.release()
