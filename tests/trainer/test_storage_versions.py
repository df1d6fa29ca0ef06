"""The versions of objects: another one after each write, also of the same bytes."""

from contextlib import closing
from pathlib import Path

import pytest
from google.cloud import storage

from qtj_trainer.storage import Store, open_store


def check_versions(store: Store) -> None:
    assert store.versions("versions") == {}

    seen = []
    for data in (b"first", b"second", b"second"):
        store.write("versions/a", data)
        seen.append(store.versions("versions")["versions/a"])
    store.write("versions/b", b"another")

    assert len(set(seen)) == 3
    assert store.versions("versions")["versions/a"] == seen[-1]
    assert [*store.versions("versions")] == ["versions/a", "versions/b"]
    assert store.sizes("versions") == {"versions/a": 6, "versions/b": 7}


def test_a_folder_has_versions(tmp_path: Path) -> None:
    check_versions(open_store(str(tmp_path)))


def test_a_bucket_has_versions(bucket: storage.Bucket, emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator)
    with closing(open_store(f"gs://{bucket.name}/profiles")) as store:
        check_versions(store)
