"""The state of a user's program: which checkpoints fit, and the errors if its types change."""

import json
from typing import Any

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import DivergedError, UserError
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.workloads.options import Options


def tree(**parts: Any) -> State:
    return State(**{"w": np.zeros(2), "best": np.array(np.inf), "losses": [], **parts})


def test_the_fingerprint_is_of_names_shapes_and_types_and_not_of_numbers() -> None:
    def fingerprint(**parts: Any) -> str:
        return ArrayState(tree(**parts)).fingerprint(Options())

    assert fingerprint() == fingerprint(w=np.ones(2), losses=[0.5])
    assert len({fingerprint(), fingerprint(w=np.zeros(3)), fingerprint(w=np.zeros(2, np.float32)), fingerprint(v=1.0),
                fingerprint(v=np.zeros(2))}) == 4, "a number that is no array may come and go"  # fmt: skip


def test_a_state_is_restored_as_it_was() -> None:
    before, after = tree(), tree()
    stored = ArrayState(before)
    before.w += 1
    before.losses.append(0.5)

    ArrayState(after).restore(stored.state())

    assert (after.w.tolist(), after.losses, after.best) == ([1, 1], [0.5], np.inf)


def test_a_checkpoint_records_which_parts_are_shared() -> None:
    shared = np.zeros(2)

    structure, *_ = ArrayState(tree(w=shared, copy=shared)).state()

    assert json.loads(str(structure))["shared"] == {"copy": "w"}


def test_parts_that_became_two_are_two_after_a_restart() -> None:
    before, shared = tree(copy=np.zeros(2)), np.zeros(2)
    stored = ArrayState(before)
    before.copy = np.ones(2)
    after = tree(w=shared, copy=shared)

    ArrayState(after).restore(stored.state())

    assert (after.w.tolist(), after.copy.tolist()) == ([0, 0], [1, 1])


def test_a_checkpoint_of_another_shape_is_refused_with_both() -> None:
    stored = ArrayState(tree(w=np.zeros(3))).state()

    with pytest.raises(UserError) as refused:
        ArrayState(tree()).restore(stored)

    assert str(refused.value) == (
        "the last checkpoint does not fit the state of this program: w is float64 (3,) there and float64 (2,) here"
    )


def test_an_array_that_became_another_is_named_before_it_is_stored() -> None:
    changed = tree()
    state = ArrayState(changed)
    changed.w = np.zeros(3, np.float32)

    with pytest.raises(UserError) as refused:
        state.state()

    assert str(refused.value) == (
        "w was float64 (2,) when training started, and is float32 (3,) now: give program.state()"
        " arrays of the type and shape that the steps return"
    )


def test_an_optimizer_that_is_built_too_late_is_named() -> None:
    class Adam:
        def __init__(self) -> None:
            self.variables: list[Any] = []

    optimizer = Adam()
    state = ArrayState(tree(optimizer=optimizer))
    optimizer.variables.append(np.zeros(2))

    with pytest.raises(UserError, match=r"^optimizer has 1 variables now, and had 0 when training started: build it "):
        state.state()


def test_a_weight_that_is_not_finite_any_more_is_named_with_its_step() -> None:
    changed = tree()
    state = ArrayState(changed)
    state.check_finite(3)
    changed.w[1] = np.nan

    with pytest.raises(DivergedError, match=r"^training diverged, a weight of w was nan after step 4: "):
        state.check_finite(4)


def test_what_was_not_finite_at_the_start_need_not_become_so() -> None:
    changed = tree()
    state = ArrayState(changed)
    changed.best = np.array(np.nan)

    state.check_finite(1)

    assert np.isnan(changed.best)


def test_a_state_that_nothing_has_changed_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    changed = tree()
    state = ArrayState(changed)

    state.warn_if_unchanged()
    assert [each.partition(":")[0] for each in caplog.messages] == ["the first epoch has not changed the state"]

    caplog.clear()
    changed.w += 1e-9
    state.warn_if_unchanged()
    assert caplog.messages == []
