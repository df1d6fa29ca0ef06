"""A folder as a store."""

import resource
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.storage import MissingObjectError, open_store, read_uri


def test_what_is_written_is_read_back_by_its_address(tmp_path: Path) -> None:
    store = open_store(f"{tmp_path}/new/folder")

    store.write("weights/1.h5", b"old")
    store.write("weights/1.h5", b"new")

    assert store.uri("weights/1.h5") == f"file://{tmp_path}/new/folder/weights/1.h5"
    assert read_uri(store.uri("weights/1.h5")) == b"new"
    assert read_uri(f"{tmp_path}/new/folder/weights/1.h5") == b"new"


def test_a_folder_with_a_space_has_an_address_too(tmp_path: Path) -> None:
    store = open_store(f"{tmp_path}/my runs")

    store.write("a.json", b"{}")

    assert "%20" in store.uri("a.json")
    assert read_uri(store.uri("a.json")) == b"{}"
    assert open_store(f"file://{tmp_path}/my%20runs").read("a.json") == b"{}"


def test_an_interrupted_write_keeps_the_old_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path))
    store.write("a", b"old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write("a", b"new")

    assert store.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_reported_and_destroys_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    store.write("a", b"old")

    with (
        room_for(1000),
        pytest.raises(UserError, match=r"no room for artifacts in .*; objects that were stored before are intact"),
    ):
        store.write("a", bytes(2000))

    assert store.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Lets no file of this process grow beyond a number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_missing_object_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingObjectError, match=r"a\.h5 does not exist"):
        open_store(str(tmp_path)).read("a.h5")


def test_a_folder_lists_its_own_objects_until_they_are_deleted(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    for name in ("a/2", "a/1", "b/3"):
        store.write(name, b"")

    assert store.list("a") == ["a/1", "a/2"]

    for name in ("a/1", "a/2", "a/2"):
        store.delete(name)
    assert store.list("a") == store.list("nowhere") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]


def test_what_cannot_be_deleted_is_named(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)

    with pytest.raises(UserError, match=r"cannot delete file://.*/a \(Is a directory\): check its permissions"):
        open_store(str(tmp_path)).delete("a")


def test_a_folder_below_a_file_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = open_store(f"{tmp_path}/file/below")

    with pytest.raises(UserError, match=r"cannot write artifacts to .*file/below \(Not a directory\): choose"):
        store.check_writable()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s3://bucket/path", "unknown scheme 's3'"),
        ("gs:///path", "names no bucket"),
        ("file://folder/path", "names a host"),
    ],
)
def test_an_address_of_nowhere_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        open_store(address)


def test_a_folder_that_a_peer_deletes_as_empty_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write makes the folder, and then a file with a random name; in between, a peer deletes another object there."""
    store, deletions = open_store(str(tmp_path)), iter(["logs/worker-1.error.txt"])

    def name_of(_: int) -> str:
        for name in deletions:
            store.delete(name)
            assert not (tmp_path / "logs").exists()
        return "1234"

    monkeypatch.setattr(secrets, "token_hex", name_of)

    store.write("logs/worker-0.xplane.pb", b"profile")

    assert store.read("logs/worker-0.xplane.pb") == b"profile"
