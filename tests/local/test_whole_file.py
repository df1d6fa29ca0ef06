"""Files are written whole or not at all, and never through a link."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qtj.local.activity import Activity
from qtj.local.folder import Folder
from qtj.local.pod_record import record_pod
from qtj.local.store import Change
from qtj_contract.progress import Progress
from qtj_contract.whole_file import growing, read_regular, write_whole
from qtj_operator.controller.client import Resource
from qtj_trainer.storage.files import FileStore
from qtj_trainer.stored.progress_log import log_progress
from tests.local.room import little_room

POD: dict[str, Any] = {
    "metadata": {"name": "toy-worker-0", "labels": {"quantumtraining.dev/attempt": "1"}},
    "spec": {"containers": [{"name": "trainer"}]},
}


@pytest.mark.parametrize("durable", [True, False])
def test_a_full_disk_leaves_the_earlier_file_and_nothing_else(tmp_path: Path, durable: bool) -> None:
    (tmp_path / "report.txt").write_text("earlier")

    with little_room(100), pytest.raises(OSError, match="File too large"):
        write_whole(tmp_path / "report.txt", b"x" * 200, durable=durable)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"report.txt": "earlier"}


def test_a_link_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "report.txt").symlink_to("precious")

    write_whole(tmp_path / "report.txt", b"new")

    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "report.txt").read_text() == "new"


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"new")

    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


def test_a_file_that_grows_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("precious")
    with growing(tmp_path / "lines") as lines:
        lines.write(b"a")

    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        growing(tmp_path / "log")

    assert (tmp_path / "lines").read_bytes() == b"a"
    assert not (tmp_path / "precious").exists()


WRITERS: dict[str, Callable[[Folder], object]] = {
    "job.json": lambda folder: folder.save({"metadata": {"name": "toy"}, "spec": {}}),
    ".job.json": lambda folder: folder.save({"metadata": {"name": "toy"}, "spec": {}}),
    "events.jsonl": lambda folder: folder.record_event({"reason": "Started"}),
    "logs/toy-worker-0.1.log": lambda folder: folder.log(POD)(b"a line\n"),
    "result.json": lambda folder: FileStore(folder.path).write("result.json", b"{}"),
    ".stop": lambda folder: folder.ask_to_stop(at_once=True),
    "pods.jsonl": lambda folder: record_pod(folder.path, Change("ADDED", Resource.PODS, 1, POD)),
    "activity.jsonl": lambda folder: Activity(folder.path).update("compiling"),
    "progress.jsonl": lambda folder: log_progress(
        {"QTJ_PROGRESS_LOG": str(folder.path / "progress.jsonl")}, Progress(epoch=1, loss=0.5)
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_writes_through_no_link_that_was_planted_in_its_folder(folder: Folder, name: str) -> None:
    precious = folder.path.parent / "precious"
    precious.write_text("precious")
    (folder.path / name).symlink_to(precious)

    WRITERS[name](folder)

    assert precious.read_text() == "precious"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir, lambda _: None])
def test_what_never_ends_is_no_file_to_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "record")

    with pytest.raises(OSError):
        read_regular(tmp_path / "record")


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(b"a\r\n" * 100_000)

    assert read_regular(tmp_path / "record") == b"a\r\n" * 100_000
