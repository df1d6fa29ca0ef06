"""How `qtj report` reads artifacts: files, and a bucket by the rights of the user."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qtj.report.stored import read_any, read_file
from qtj_report.artifacts import NoAccessError
from tests.cli.bucket import bucket_with

OBJECTS = {"/lab/o/toy/reports/toy 1.jsonl": (200, b"{}"), "/lab/o/secret": (403, b"no right to storage.objects.get")}


@pytest.fixture
def bucket() -> Iterator[None]:
    with bucket_with(OBJECTS):
        yield


@pytest.mark.usefixtures("bucket")
def test_an_object_of_a_bucket_is_read_and_a_missing_one_is_none() -> None:
    assert read_any("gs://lab/toy/reports/toy 1.jsonl") == b"{}"
    assert read_any("gs://lab/toy/reports/toy-2.jsonl") is None


@pytest.mark.usefixtures("bucket")
def test_a_bucket_that_refuses_is_a_sentence() -> None:
    with pytest.raises(NoAccessError, match=r"^gs://lab/secret cannot be read \(403 .*objects.get.*\): `gcloud "):
        read_any("gs://lab/secret")


def test_without_the_library_a_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)

    with pytest.raises(NoAccessError, match="to read gs://lab/x needs google-cloud-storage"):
        read_any("gs://lab/x")


def test_files_are_read_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(b"x")

    for read in (read_any, read_file):
        assert read((tmp_path / "a b").as_uri()) == b"x"
        assert read((tmp_path / "none").as_uri()) is None
    with pytest.raises(OSError, match="Is a directory"):
        read_any(tmp_path.as_uri())
