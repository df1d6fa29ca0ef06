"""The files of a capture, and what the leader reports of them."""

from pathlib import Path

import pytest

from qtj_contract import CaptureRecord
from qtj_trainer.replica.capture_files import CaptureFiles
from qtj_trainer.storage import Store, open_store

PATH = "logs/qcnn/plugins/profile/step-9"
BOTH = ("worker-0", "worker-1")


@pytest.fixture
def files(store: Store) -> CaptureFiles:
    return CaptureFiles(store, "qcnn", "step-9")


def test_a_capture_of_all_replicas_is_stored(files: CaptureFiles, tmp_path: Path) -> None:
    for replica in BOTH:
        files.store_profile(replica, b"profile")

    assert files.record(BOTH, patience=60) == CaptureRecord("step-9", "Stored", PATH)
    assert (tmp_path / PATH / "worker-1.xplane.pb").read_bytes() == b"profile"


def test_a_replica_without_a_profile_is_named_with_its_reason(files: CaptureFiles) -> None:
    files.store_profile("worker-0", b"profile")
    files.store_error("worker-1", "the disk is full")

    assert files.record(BOTH, patience=60) == CaptureRecord("step-9", "Stored", PATH, "worker-1: the disk is full")


def test_a_replica_that_stores_nothing_is_waited_for_and_then_named(files: CaptureFiles) -> None:
    files.store_profile("worker-0", b"profile")

    record = files.record(BOTH, patience=0.1)

    assert record == CaptureRecord("step-9", "Stored", PATH, "worker-1 has stored no profile")


def test_a_capture_of_nobody_has_failed(files: CaptureFiles) -> None:
    record = files.record(BOTH, patience=0)

    assert record == CaptureRecord(
        "step-9", "Failed", error="worker-0 has stored no profile; worker-1 has stored no profile"
    )


def test_the_last_attempt_counts(files: CaptureFiles) -> None:
    files.store_profile("worker-0", b"of the first attempt")
    files.store_error("worker-0", "the disk is full")
    assert files.record(BOTH[:1], patience=0).state == "Failed"

    files.store_profile("worker-0", b"of the third")
    assert files.record(BOTH[:1], patience=0) == CaptureRecord("step-9", "Stored", PATH)


def test_a_file_of_an_attempt_before_counts_once_it_was_replaced(files: CaptureFiles, store: Store) -> None:
    for replica in BOTH:
        files.store_profile(replica, b"of the first attempt")
    later = CaptureFiles(store, "qcnn", "step-9", files.versions())
    later.store_profile("worker-0", b"of the second")

    assert later.record(BOTH) == CaptureRecord("step-9", "Stored", PATH, "worker-1 has stored no profile")

    later.store_profile("worker-1", b"of the second")
    assert later.record(BOTH) == CaptureRecord("step-9", "Stored", PATH)


def test_a_store_that_cannot_be_read_is_a_failure_of_the_capture(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file, and no folder")

    record = CaptureFiles(open_store(str(tmp_path)), "qcnn", "step-9").record(BOTH, patience=0)

    assert record.state == "Failed"
    assert record.error
