"""Which checkpoint the leader, a follower and an evaluator read, also if the store or other processes change it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import TrainerError, TryAgainError, UserError
from qtj_trainer.storage import MissingObjectError, Store, open_store
from qtj_trainer.storage.files import FileStore
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.stored.checkpoints import clear_checkpoints
from qtj_trainer.stored.position import Position
from tests.trainer.checkpoints import FOLDER, NUMBERS, after, made_of, steps


class Silent(FileStore):
    """A store that lists what it has and does not answer to anything else."""

    def read(self, name: str) -> bytes:
        raise TryAgainError(f"{name} did not answer")

    def delete(self, name: str) -> None:
        raise TryAgainError(f"{name} did not answer")


class Late(FileStore):
    """A bucket from which the oldest checkpoint has gone since it was listed."""

    def read(self, name: str) -> bytes:
        if name == min(self.list(FOLDER)):
            raise MissingObjectError(self.uri(name))
        return super().read(name)


class Forgetful(FileStore):
    """A bucket whose list still has what is deleted already."""

    def read(self, name: str) -> bytes:
        raise MissingObjectError(self.uri(name))


def rewrite(store: Store, name: str, change: dict[str, Any]) -> str:
    """Stores a copy of a checkpoint with another description; returns its name."""
    arrays = arrays_from_bytes(store.read(name))
    about = {**json.loads(str(arrays["about"])), **change}
    data = arrays_to_bytes({**arrays, "about": np.array(json.dumps(about))})
    return renamed(store, name, data)


def renamed(store: Store, name: str, data: bytes) -> str:
    """Stores bytes under the name that their digest gives them, in place of a checkpoint."""
    store.delete(name)
    new = f"{name.rpartition('-')[0]}-{sha256(data).hexdigest()[:12]}.npz"
    store.write(new, data)
    return new


def test_an_evaluator_reads_the_oldest_that_it_has_not_seen(store: Store) -> None:
    for number in (1, 2, 3):
        made_of(store).add(after(number), NUMBERS)
    reading = made_of(store)

    seen = [reading.after(step) for step in (0, 3, 4, 9)]

    assert [each.position.step if each else None for each in seen] == [3, 6, 6, None]


def test_an_evaluator_passes_over_a_broken_one_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    broken = made_of(store).add(after(1), NUMBERS)
    made_of(store).add(after(2), NUMBERS)
    store.write(broken, b"broken")
    reading = made_of(store)

    found = [reading.after(0), reading.after(0)]

    assert [each.position.epochs for each in found if each] == [2, 2]
    assert caplog.messages == [f"passing over a checkpoint: {store.uri(broken)} is truncated or was changed"]


def test_an_evaluator_skips_a_checkpoint_that_was_deleted(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made_of(store).add(after(1), NUMBERS)

    assert made_of(Forgetful(tmp_path)).after(0) is None
    assert caplog.messages == []


def test_an_evaluator_reads_the_next_one_when_the_oldest_was_deleted(store: Store, tmp_path: Path) -> None:
    for number in (1, 2):
        made_of(store).add(after(number), NUMBERS)

    found = made_of(Late(tmp_path)).after(0)

    assert found is not None
    assert found.position.step == 6


def test_an_evaluator_changes_nothing_and_reads_none_of_another_training(store: Store, tmp_path: Path) -> None:
    made_of(store).add(after(1), NUMBERS)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    assert made_of(store).after(0) is not None
    assert made_of(store, seed=1).after(0) is None
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_steps_are_in_order_with_any_number_of_digits(store: Store) -> None:
    for step in (1_000_000_000, 999_999_999):
        made_of(store).add(Position(step, after(1).last, (0.5,)), NUMBERS)

    found = made_of(store).after(0)

    assert found is not None
    assert found.position.step == 999_999_999


def test_a_follower_reports_what_it_cannot_read_and_what_to_do(store: Store, tmp_path: Path) -> None:
    name = made_of(store).add(after(1), NUMBERS)
    elsewhere = open_store(str(tmp_path / "elsewhere"))

    with pytest.raises(UserError) as missing:
        made_of(elsewhere).read(name)
    store.write(name, b"")
    with pytest.raises(TryAgainError) as broken:
        made_of(store).read(name)

    assert str(missing.value) == (
        f"the leader resumes from {elsewhere.uri(name)}, which is not here: put the artifacts where all workers can "
        "read them, or set --checkpoint-every 0 and --checkpoint-steps 0"
    )
    assert str(broken.value) == f"{store.uri(name)} is truncated or was changed: all have to start again"


def test_a_leader_reports_which_checkpoint_was_deleted(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = made_of(store).add(after(1), NUMBERS)

    assert made_of(Forgetful(tmp_path)).newest() is None
    [warning] = caplog.messages
    assert warning.startswith(f"passing over a checkpoint: {store.uri(name)}")


def test_a_store_that_does_not_answer_is_waited_for_and_not_trained_over(store: Store, tmp_path: Path) -> None:
    name = made_of(store).add(after(1), NUMBERS)
    silent = Silent(tmp_path)

    for ask in (made_of(silent).newest, lambda: made_of(silent).after(0), lambda: made_of(silent).read(name)):
        with pytest.raises(TryAgainError, match="did not answer"):
            ask()


def test_a_store_that_deletes_nothing_is_a_warning(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made_of(store).add(after(1), NUMBERS)

    clear_checkpoints(Silent(tmp_path), "uid-1")

    [warning] = caplog.messages
    assert warning.startswith(f"old checkpoints stay: {FOLDER}/000000003-")
    assert steps(store.list(FOLDER)) == [3]


def test_a_store_that_lists_nothing_is_a_warning_at_the_end_and_a_failure_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Closed(FileStore):
        def list(self, folder: str) -> Sequence[str]:
            raise UserError(f"no permission to list {folder}")

    closed = Closed(tmp_path)
    clear_checkpoints(closed, "uid-1")

    assert caplog.messages == ["the checkpoints stay: no permission to list checkpoints/uid-1"]
    with pytest.raises(TrainerError, match="no permission to list checkpoints/uid-1"):
        made_of(closed).newest()


@pytest.mark.parametrize(
    "change",
    [
        {"position": {}},
        {"position": None},
        {"position": {**asdict(after(1)), "last": {"number": 1}}},
        {"position": {**asdict(after(1)), "last": {**asdict(after(1))["last"], "odd": 1}}},
    ],
)
def test_one_of_another_version_is_passed_over(
    store: Store, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(store, made_of(store).add(after(1), NUMBERS), change)

    assert made_of(store).newest() is None
    assert caplog.messages[0].endswith(" is of another version of the trainer")


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_bytes_that_were_stored_so_and_are_no_checkpoint_are_passed_over(
    store: Store, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    renamed(store, made_of(store).add(after(1), NUMBERS), data)

    assert made_of(store).newest() is None
    assert caplog.messages[0].endswith(" is of another version of the trainer")


@pytest.mark.parametrize("name", ["12-0123456789ab.npz", "000000003-0123456789ab.npz.tmp", "notes.txt"])
def test_what_is_no_checkpoint_by_its_name_is_older_than_any(store: Store, name: str) -> None:
    made_of(store).add(after(1), NUMBERS)
    store.write(f"{FOLDER}/{name}", b"something else")

    found = made_of(store).newest()

    assert found is not None
    assert found.position.step == 3
    assert made_of(store).after(3) is None
