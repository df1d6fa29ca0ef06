"""Checkpoints by themselves: which are kept, which are read, and which are passed over."""

from dataclasses import replace
from pathlib import Path

import pytest

from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.storage import Store
from qtj_trainer.storage.files import FileStore
from qtj_trainer.stored.position import Position
from qtj_trainer.workloads.options import Options
from qtj_trainer.workloads.qcnn import QcnnOptions
from tests.trainer.checkpoints import OPTIONS, STATE, Model, after, checkpoints, save


class Full(FileStore):
    """A disk on which nothing fits any more."""

    def write(self, name: str, data: bytes) -> None:
        raise TryAgainError(f"no room for the {len(data)} bytes of {name}")


def resumed_after(store: Store) -> int | None:
    """Returns the epoch after which a new attempt goes on."""
    found = checkpoints(store).newest()
    return found.position.epochs if found else None


def test_a_checkpoint_is_read_as_it_was_stored(store: Store) -> None:
    name = checkpoints(store).save(replace(after(3), step=11, sums=(0.5, 0.25)), STATE)

    for found in (checkpoints(store).newest(), checkpoints(store).read(name)):
        assert found is not None
        assert (found.name, found.uri) == (name, store.uri(name))
        assert found.position == Position(11, after(3).last, (0.5, 0.25))
        assert [(each.dtype, each.tolist()) for each in found.state] == [(each.dtype, each.tolist()) for each in STATE]


def test_a_checkpoint_of_another_data_file_is_passed_over_with_that_reason(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    before, after_a_change = (QcnnOptions(data="d.csv", data_sha256=digest * 32) for digest in ("ab", "cd"))
    checkpoints(store, options=before).save(after(1), STATE)

    assert checkpoints(store, options=after_a_change).newest() is None
    [told] = caplog.messages
    assert told.endswith(" is of another training: what --data names was changed since")


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty"])
def test_a_damaged_one_falls_back_to_the_one_before(
    store: Store, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    newest = save(store, 1, 2)[-1]
    data = newest.read_bytes()
    newest.write_bytes({"truncated": data[:-100], "changed": b"?" + data[1:], "empty": b""}[damage])

    assert resumed_after(store) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"passing over a checkpoint: {newest.as_uri()} is truncated or was changed"
    ]


def test_damaged_ones_and_interrupted_writes_are_the_first_to_go(store: Store) -> None:
    old, newest = save(store, 1, 2)
    newest.write_bytes(b"")
    unfinished = newest.with_name(f".{newest.name}.1f3c")
    unfinished.write_bytes(b"PK")
    attempt = checkpoints(store)
    assert attempt.newest()

    written = attempt.save(replace(after(2), sums=(1.0,)), STATE)

    assert sorted(old.parent.iterdir()) == sorted([old, old.with_name(written.rpartition("/")[2])])


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        (Model("convolution"), OPTIONS, "is of another training"),
        (Model(), replace(OPTIONS, seed=1), "is of another training"),
        (Model(), replace(OPTIONS, epochs=1), "is after epoch 2, beyond the 1 asked for"),
    ],
)
def test_those_of_another_training_are_passed_over(
    store: Store, model: Model, options: Options, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    save(store, 2)

    assert checkpoints(store, model=model, options=options).newest() is None
    assert why in caplog.text


def test_more_epochs_are_the_same_training(store: Store) -> None:
    save(store, 2)

    assert checkpoints(store, options=replace(OPTIONS, epochs=20, checkpoint_every=5)).newest()


def test_another_job_has_none(store: Store) -> None:
    save(store, 1)

    assert checkpoints(store, "uid-2").newest() is None
    assert checkpoints(store, "").newest() is None


def test_every_so_often(store: Store) -> None:
    every_third = checkpoints(store, options=replace(OPTIONS, checkpoint_every=3))
    never = checkpoints(store, options=replace(OPTIONS, checkpoint_every=0))

    assert [number for number in range(1, 11) if every_third.is_due(after(number))] == [3, 6, 9]
    assert not any(never.is_due(after(number)) for number in range(1, 11))


def test_a_run_that_makes_none_neither_reads_nor_deletes_any(store: Store) -> None:
    kept = save(store, 1)
    none = checkpoints(store, options=replace(OPTIONS, checkpoint_every=0))

    found = none.newest()
    none.clear()

    assert found is None
    assert all(each.exists() for each in kept)


def test_one_within_an_epoch_is_newer_than_the_epochs_end(store: Store) -> None:
    save(store, 1)
    checkpoints(store).add(Position(4, after(1).last, (0.5,)), STATE)

    found = checkpoints(store).newest()

    assert found is not None
    assert (found.position.step, found.position.epochs) == (4, 1)


def test_a_failed_write_leaves_the_one_before(store: Store, tmp_path: Path) -> None:
    save(store, 1, 2)
    attempt = checkpoints(Full(tmp_path))
    assert attempt.newest()

    with pytest.raises(TryAgainError, match=r"no room for .* checkpoints/uid-1/000000009-"):
        attempt.save(after(3), STATE)

    assert resumed_after(store) == 2


def test_a_store_that_takes_none_is_named(store: Store, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").touch()

    assert resumed_after(store) is None
    with pytest.raises(UserError, match=r"cannot write artifacts to .* \(.*\): choose a folder"):
        save(store, 1)


def test_one_that_cannot_be_deleted_stops_nobody(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    stubborn = save(store, 1)[0].parent / "folder"
    stubborn.mkdir()
    attempt = checkpoints(store)
    attempt.newest()

    attempt.save(after(2), STATE)
    attempt.clear()

    assert caplog.text.count("old checkpoints stay: cannot delete") == 2
