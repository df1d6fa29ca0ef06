"""What a run leaves in its folder: its record, which later runs go on from, its logs and its events."""

import json
import os
from pathlib import Path

import pytest

from qtj.local.folder import Folder, FolderError
from tests.local.records import record
from tests.local.room import little_room

POD = {"metadata": {"name": "toy-worker-0", "labels": {"quantumtraining.dev/attempt": "2"}}}


def test_a_record_is_read_as_it_was_saved(folder: Folder) -> None:
    folder.save(record(phase="Running"))

    assert folder.load() == record(phase="Running")
    assert sorted(path.name for path in folder.path.iterdir()) == [".qtj-run", "job.json", "logs"]


def test_two_records_have_two_versions(folder: Folder) -> None:
    folder.save(record(phase="Running"))
    before = folder.version
    folder.save(record(phase="Failure"))

    assert folder.version != before


def test_a_record_that_cannot_be_written_is_a_complaint_until_one_can(folder: Folder) -> None:
    folder.save(record(phase="Running"))

    with little_room(10):
        folder.save(record(phase="Complete"))

    assert str(folder.complaint).startswith(f"cannot write {folder.path / 'job.json'} (File too large): make room")
    assert folder.load()["status"] == {"phase": "Running"}

    folder.save(record(phase="Complete"))

    assert folder.complaint is None
    assert folder.load()["status"] == {"phase": "Complete"}


def test_a_record_that_failed_half_way_leaves_nothing_behind(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    folder.save(record())

    assert "No space left on device" in str(folder.complaint)
    assert list(folder.path.glob(".job.json*")) == []


def test_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"^there is no run in .*: nothing was run there yet$"):
        Folder(tmp_path).load()


def test_a_run_that_ended_before_its_record_says_so(folder: Folder) -> None:
    with pytest.raises(FolderError, match=r"^the run in .* stopped before its job started: run it again$"):
        folder.load()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"kind": "Pod"}', json.dumps({**record(), "metadata": {"name": "toy"}})]
)
def test_a_damaged_record_is_a_sentence(folder: Folder, text: str) -> None:
    (folder.path / "job.json").write_text(text)

    with pytest.raises(FolderError, match=r"^.*job\.json is not the record of a job: it was changed, so start over"):
        folder.load()


def test_a_record_that_cannot_be_read_is_a_sentence(folder: Folder) -> None:
    (folder.path / "job.json").mkdir()

    with pytest.raises(FolderError, match=r"^cannot read .*job\.json \(Is a directory\): make it readable$"):
        folder.load()


def test_weights_move_with_the_folder(folder: Folder, tmp_path: Path) -> None:
    weights = {"uri": (folder.path / "weights/a b.h5").as_uri(), "sha256": "1f3c"}
    folder.save(record(weights=weights))
    folder.release()
    folder.path.rename(tmp_path / "elsewhere")
    moved = Folder(tmp_path / "elsewhere")

    assert moved.load()["status"]["weights"] == {
        "uri": (tmp_path / "elsewhere/weights/a b.h5").as_uri(),
        "sha256": "1f3c",
    }

    moved.claim()  # from now on the mark names the new place
    moved.release()

    assert moved.load()["status"]["weights"]["uri"] == (tmp_path / "elsewhere/weights/a b.h5").as_uri()


def test_each_attempt_of_a_replica_has_a_log(folder: Folder) -> None:
    folder.log(POD)(b"second\n")
    folder.log(POD)(b"line\n")
    folder.log({"metadata": {"name": "toy-inference", "labels": {}}})(b"mse 0.1\n")

    assert [path.name for path in folder.logs] == ["toy-worker-0.2.log", "toy-inference.log"]
    assert folder.logs[0].read_bytes() == b"second\nline\n"


def test_output_that_cannot_be_written_is_lost_and_nothing_else(folder: Folder) -> None:
    (folder.path / "logs/toy-worker-0.2.log").mkdir()
    (folder.path / "events.jsonl").mkdir()

    folder.log(POD)(b"lost\n")
    folder.record_event({"reason": "Lost"})

    assert (folder.path / "logs/toy-worker-0.2.log").is_dir()
    assert (folder.path / "events.jsonl").is_dir()


def test_an_event_after_a_torn_line_is_on_a_line_of_its_own(folder: Folder) -> None:
    (folder.path / "events.jsonl").write_text('{"reason": "Tor')

    folder.record_event({"reason": "AllReplicasReady"})

    assert json.loads((folder.path / "events.jsonl").read_text().splitlines()[-1]) == {"reason": "AllReplicasReady"}


def test_a_folder_that_moved_without_a_record_is_claimed_anew(folder: Folder, tmp_path: Path) -> None:
    folder.release()
    folder.path.rename(tmp_path / "elsewhere")
    moved = Folder(tmp_path / "elsewhere")

    moved.claim()

    assert sorted(path.name for path in moved.path.iterdir()) == [".qtj-run", "logs"]
    moved.release()


def test_a_record_can_be_read_by_people_and_compared_line_by_line(folder: Folder) -> None:
    folder.save({"spec": {"b": 1}, "metadata": {"c": 2}})

    lines = (folder.path / "job.json").read_text().splitlines()
    assert lines == [
        "{",
        '    "metadata": {',
        '        "c": 2',
        "    },",
        '    "spec": {',
        '        "b": 1',
        "    }",
        "}",
    ]
