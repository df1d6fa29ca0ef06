"""What another process shows of a run, by what lies in its folder."""

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder
from qtj.local.follow import events_of, follow
from qtj.local.store import Change
from tests.local.laptop import QTJ, Laptop

EVENT = {"type": "Warning", "reason": "Restarting", "message": "worker-1 is gone", "involvedObject": {"name": "own"}}
DAMAGED: list[Any] = [
    None, 7, [], "text", {}, {**EVENT, "message": None}, {**EVENT, "involvedObject": "own"},
    {**EVENT, "involvedObject": {"name": 3}}, {name: value for name, value in EVENT.items() if name != "reason"},
]  # fmt: skip


def job(phase: str) -> dict[str, Any]:
    meta = {"name": "own", "namespace": "default", "uid": "uid-1"}
    return {"kind": "QuantumTrainingJob", "metadata": meta, "spec": {}, "status": {"phase": phase}}


def phases(changes: list[Change]) -> list[str]:
    return [change.object["status"]["phase"] for change in changes if change.type == "MODIFIED"]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The folder of a run that is over."""
    folder = Folder(tmp_path)
    folder.claim()
    folder.save(job("Complete"))
    folder.release()
    return folder


@contextmanager
def under_way(folder: Folder) -> Iterator[None]:
    """Another `qtj run` is at work in the folder meanwhile."""
    folder.claim()
    try:
        yield
    finally:
        folder.release()


def test_a_line_that_is_no_event_is_passed_over(folder: Folder) -> None:
    lines = [json.dumps(each) for each in (*DAMAGED, EVENT)]
    (folder.path / "events.jsonl").write_text("\n".join([*lines, "no JSON", "[" * 100_000, ""]))

    assert events_of(folder) == [EVENT]
    assert [change.object for change in follow(folder) if change.type == "ADDED"] == [EVENT]


def test_a_run_on_a_read_only_disk_can_be_followed(laptop: Laptop) -> None:
    folder = Folder(laptop.folder / "qtj-artifacts/own/1")
    folder.claim()
    folder.save(job("Complete"))
    folder.record_event(EVENT)
    folder.release()

    command = shlex.join([*QTJ, "attach", "own"])
    ended = laptop.run_apart(f"mount --bind . . && mount -o remount,bind,ro . && cd $PWD && {command}")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "own  Restarting: worker-1 is gone" in ended.stdout


def test_following_a_run_without_events_makes_no_file(folder: Folder) -> None:
    assert phases(list(follow(folder))) == ["Complete"]
    assert not (folder.path / "events.jsonl").exists()


def test_events_that_come_later_are_shown(folder: Folder) -> None:
    folder.save(job("Running"))
    with under_way(folder):
        changes = follow(folder)
        seen = [next(changes)]
        folder.record_event(EVENT)
        seen.append(next(changes))

    assert [change.type for change in seen] == ["MODIFIED", "ADDED"]


def test_a_record_that_is_replaced_within_one_tick_of_the_clock_is_seen(folder: Folder) -> None:
    record = folder.path / "job.json"
    folder.save(job("Running"))
    with under_way(folder):
        changes = follow(folder)
        seen = [next(changes)]
        before = record.stat().st_mtime_ns
        folder.save(job("Failed"))
        os.utime(record, ns=(before, before))
    seen += list(changes)

    assert phases(seen) == ["Running", "Failed"]


def test_the_end_is_shown_before_the_event_that_is_about_it(folder: Folder) -> None:
    folder.save(job("Running"))
    with under_way(folder):
        changes = follow(folder)
        seen = [next(changes)]
        folder.save(job("Complete"))
        folder.record_event(EVENT)
        seen += list(changes)

    assert [change.object.get("status", {}).get("phase") for change in seen] == ["Running", "Complete", None]
