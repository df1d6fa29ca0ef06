"""Which checkpoint a process takes: in every case that the leader, a follower and an evaluator may meet."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import TrainerError, TryAgainError, UserError
from qtj_trainer.run.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.run.checkpoints import Checkpoints, clear_checkpoints
from qtj_trainer.run.position import Epoch, Gradient, Position
from qtj_trainer.storage import MissingObjectError, Store, open_store
from qtj_trainer.storage.files import FileStore
from qtj_trainer.workloads.options import Options
from tests.trainer.test_checkpoints import Model, after

FOLDER = "checkpoints/uid-1"
NUMBERS = (np.arange(3.0),)


class Silent(FileStore):
    """A store that lists what it has and does not answer to anything else."""

    def read(self, name: str) -> bytes:
        raise TryAgainError(f"{name} did not answer")

    def delete(self, name: str) -> None:
        raise TryAgainError(f"{name} did not answer")


class Forgetful(FileStore):
    """A bucket whose list still has what is deleted already."""

    def read(self, name: str) -> bytes:
        raise MissingObjectError(self.uri(name))


def made_of(store: Store, uid: str = "uid-1", **options: Any) -> Checkpoints:
    return Checkpoints(store, uid, Model(), Options(**{"epochs": 10, **options}))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def rewrite(store: Store, name: str, change: dict[str, Any]) -> str:
    """Stores a checkpoint anew, whole, but with another description; returns its name."""
    arrays = arrays_from_bytes(store.read(name))
    about = {**json.loads(str(arrays["about"])), **change}
    data = arrays_to_bytes({**arrays, "about": np.array(json.dumps(about))})
    return renamed(store, name, data)


def renamed(store: Store, name: str, data: bytes) -> str:
    """Stores bytes under the name that their digest gives them, in place of a checkpoint."""
    from hashlib import sha256  # noqa: PLC0415

    store.delete(name)
    new = f"{name.rpartition('-')[0]}-{sha256(data).hexdigest()[:12]}.npz"
    store.write(new, data)
    return new


def steps(names: Sequence[str]) -> list[int]:
    return [int(name.rpartition("/")[2].partition("-")[0]) for name in names]


def test_all_that_is_known_of_a_position_survives(store: Store) -> None:
    last = Epoch(
        2, 6, 0.5, {"mse": 0.25}, 3.5,
        gradients={"angles": Gradient(0.1, 0.2), "kernel": Gradient(0.3, 0.4)},
        validation_loss=0.75, training_scores={"mse": 0.125}, learning_rate=0.01,
    )  # fmt: skip
    position = Position(7, last, (0.5, 2.0), best=after(1).last)

    name = made_of(store).add(position, NUMBERS)

    assert made_of(store).read(name).position == position


def test_a_name_says_the_step_and_the_digest_of_the_bytes(store: Store) -> None:
    from hashlib import sha256  # noqa: PLC0415

    name = made_of(store).save(after(4), NUMBERS)

    assert name == f"{FOLDER}/000000012-{sha256(store.read(name)).hexdigest()[:12]}.npz"


def test_a_run_without_an_identity_has_a_folder_of_its_own(store: Store) -> None:
    assert made_of(store, uid="").save(after(1), NUMBERS).startswith("checkpoints/local/")


def test_the_last_stored_step_is_known_to_whoever_stored_or_resumed(store: Store) -> None:
    saving, resuming = made_of(store), made_of(store)
    assert saving.step == 0

    saving.save(after(3), NUMBERS)
    resuming.newest()

    assert saving.step == resuming.step == 9


def test_the_same_checkpoint_stored_twice_is_one(store: Store) -> None:
    saving = made_of(store)
    for number in (1, 2, 2):
        saving.save(after(number), NUMBERS)

    assert steps(store.list(FOLDER)) == [3, 6]


def test_a_resumed_training_keeps_the_one_that_it_resumed_from(store: Store) -> None:
    for number in (1, 2):
        made_of(store).add(after(number), NUMBERS)
    resumed = made_of(store)
    resumed.newest()

    resumed.save(after(3), NUMBERS)
    assert steps(store.list(FOLDER)) == [6, 9]

    resumed.save(after(4), NUMBERS)
    assert steps(store.list(FOLDER)) == [9, 12]


def test_a_checkpoint_that_cannot_be_used_goes_before_one_that_can(store: Store) -> None:
    made_of(store).add(after(1), NUMBERS)
    broken = made_of(store).add(after(5), NUMBERS)
    store.write(broken, b"")
    resumed = made_of(store)
    resumed.newest()

    resumed.save(after(2), NUMBERS)

    assert steps(store.list(FOLDER)) == [3, 6]


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


def test_an_evaluator_takes_one_that_went_meanwhile_for_none(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made_of(store).add(after(1), NUMBERS)

    assert made_of(Forgetful(tmp_path)).after(0) is None
    assert caplog.messages == []


def test_a_leader_says_which_one_went_meanwhile(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = made_of(store).add(after(1), NUMBERS)

    assert made_of(Forgetful(tmp_path)).newest() is None
    [told] = caplog.messages
    assert told.startswith(f"passing over a checkpoint: {store.uri(name)}")


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

    assert [each.partition(":")[0] for each in caplog.messages] == ["old checkpoints stay"]
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


@pytest.mark.parametrize(("every", "by_step", "wanted"), [(0, 0, False), (1, 0, True), (0, 1, True), (5, 9, True)])
def test_checkpoints_are_wanted_by_epoch_or_by_step(store: Store, every: int, by_step: int, *, wanted: bool) -> None:
    made_of(store).add(after(1), NUMBERS)
    asked = made_of(store, checkpoint_every=every, checkpoint_steps=by_step)

    assert asked.are_wanted is wanted
    assert (asked.newest() is not None) is wanted


def test_an_epoch_counts_at_its_end_alone(store: Store) -> None:
    each = made_of(store, checkpoint_every=1)

    assert each.is_due(after(2))
    assert not each.is_due(Position(7, after(2).last, (0.5,)))
    assert not each.is_due(Position())


def test_a_training_that_has_reached_its_last_epoch_goes_on_from_there(store: Store) -> None:
    made_of(store).add(after(2), NUMBERS)

    assert made_of(store, epochs=2).newest()
    assert made_of(store, epochs=1).newest() is None


def test_a_step_beyond_the_last_epoch_is_of_a_longer_training(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    made_of(store).add(Position(7, after(2).last, (0.5,)), NUMBERS)

    assert made_of(store, epochs=3).newest()
    assert made_of(store, epochs=2).newest() is None
    assert caplog.messages[0].endswith(" is after epoch 2, beyond the 2 asked for")


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
