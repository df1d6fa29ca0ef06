"""Checkpoints as a training stores them: what is in one, which stay, and when one is due."""

from hashlib import sha256

import pytest

from qtj_trainer.storage import Store
from qtj_trainer.stored.position import Epoch, Gradient, Position
from tests.trainer.checkpoints import FOLDER, NUMBERS, after, made_of, steps


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


def test_a_checkpoint_that_cannot_be_used_is_deleted_before_one_that_can(store: Store) -> None:
    made_of(store).add(after(1), NUMBERS)
    broken = made_of(store).add(after(5), NUMBERS)
    store.write(broken, b"")
    resumed = made_of(store)
    resumed.newest()

    resumed.save(after(2), NUMBERS)

    assert steps(store.list(FOLDER)) == [3, 6]


@pytest.mark.parametrize(("every", "due"), [(0, []), (1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (4, [4])])
def test_checkpoints_are_due_every_so_many_steps(store: Store, every: int, due: list[int]) -> None:
    asked = made_of(store, checkpoint_every=0, checkpoint_steps=every)

    assert [step for step in range(1, 7) if asked.is_due_by_step(step)] == due
    assert [step for step in range(1, 7) if asked.is_due(Position(step))] == due


def test_a_finished_training_clears_its_own_checkpoints(store: Store) -> None:
    for uid in ("uid-1", "uid-2"):
        made_of(store, uid=uid).add(after(1), NUMBERS)

    made_of(store).clear()

    assert steps(store.list(FOLDER)) == []
    assert steps(store.list("checkpoints/uid-2")) == [3]


@pytest.mark.parametrize(("every", "by_step", "wanted"), [(0, 0, False), (1, 0, True), (0, 1, True), (5, 9, True)])
def test_checkpoints_are_wanted_by_epoch_or_by_step(store: Store, every: int, by_step: int, *, wanted: bool) -> None:
    made_of(store).add(after(1), NUMBERS)
    asked = made_of(store, checkpoint_every=every, checkpoint_steps=by_step)

    assert asked.are_wanted is wanted
    assert (asked.newest() is not None) is wanted


def test_an_epoch_counts_only_at_its_end(store: Store) -> None:
    each = made_of(store, checkpoint_every=1)

    assert each.is_due(after(2))
    assert not each.is_due(Position(7, after(2).last, (0.5,)))
    assert not each.is_due(Position())
    assert not made_of(store, checkpoint_every=0).is_due(after(2))


def test_a_training_that_has_reached_its_last_epoch_continues_from_it(store: Store) -> None:
    made_of(store).add(after(2), NUMBERS)

    assert made_of(store, epochs=2).newest()
    assert made_of(store, epochs=1).newest() is None


def test_a_step_beyond_the_last_epoch_is_of_a_longer_training(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    made_of(store).add(Position(7, after(2).last, (0.5,)), NUMBERS)

    assert made_of(store, epochs=3).newest()
    assert made_of(store, epochs=2).newest() is None
    assert caplog.messages[0].endswith(" is after epoch 2, beyond the 2 asked for")
