"""What an evaluator reads of the checkpoints, while their leader stores new ones and deletes the old."""

from pathlib import Path

import pytest

from qtj_trainer.storage import MissingObjectError, Store
from qtj_trainer.storage.files import FileStore
from tests.trainer.checkpoints import Model, checkpoints, save


class Vanishing(FileStore):
    """A folder in which the first checkpoint is deleted after it was listed and before it is read."""

    def read(self, name: str) -> bytes:
        if "000000003-" in name:
            raise MissingObjectError(self.uri(name))
        return super().read(name)


def steps_after(store: Store, step: int) -> list[int]:
    """Returns the steps of all checkpoints beyond a step, as an evaluator finds them."""
    reader, found = checkpoints(store), []
    while checkpoint := reader.after(step):
        step = checkpoint.position.step
        found.append(step)
    return found


def test_it_finds_each_checkpoint_once_the_oldest_first(store: Store) -> None:
    save(store, 1, 2)

    assert steps_after(store, 0) == [3, 6]
    assert steps_after(store, 3) == [6]
    assert steps_after(store, 6) == []


def test_before_the_first_checkpoint_it_finds_none(store: Store) -> None:
    assert steps_after(store, 0) == []


def test_a_checkpoint_that_is_deleted_while_it_is_read_is_passed_over(store: Store, tmp_path: Path) -> None:
    save(store, 1, 2)

    assert steps_after(Vanishing(tmp_path), 0) == [6]


def test_a_damaged_checkpoint_is_passed_over_and_told_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    first, _ = save(store, 1, 2)
    first.write_bytes(b"nothing")
    reader = checkpoints(store)

    found = [reader.after(0), reader.after(0)]

    assert [each and each.position.step for each in found] == [6, 6]
    assert len(caplog.records) == 1
    assert "is truncated or was changed" in caplog.text


def test_checkpoints_of_another_training_are_none_of_its_own(store: Store) -> None:
    save(store, 1)

    assert checkpoints(store, model=Model("another")).after(0) is None


def test_an_interrupted_write_is_no_checkpoint(store: Store) -> None:
    [stored] = save(store, 1)
    (stored.parent / f".{stored.name}.1a2b3c4d").write_bytes(b"half")

    assert steps_after(store, 0) == [3]


def test_reading_changes_nothing(store: Store, tmp_path: Path) -> None:
    save(store, 1, 2)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    steps_after(store, 0)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
