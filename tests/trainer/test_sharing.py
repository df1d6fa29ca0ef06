"""Parts of a state that are one at its start and two in the checkpoint: each has its own numbers again."""

import sys
from typing import Any

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import ArrayState, shared_parts
from tests.trainer.test_tree import FakeAdam, FakeTensor, Moments, module


def gradient_statistics(count: float, mean: float) -> Moments:
    return Moments(np.full(1, count), {"w": np.full(1, mean)})


def resumed(trained: State, fresh: State) -> State:
    """Takes the checkpoint of one state into another."""
    ArrayState(fresh).restore(ArrayState(trained).state())
    return fresh


def test_two_names_of_one_array_take_numbers_of_their_own() -> None:
    w = np.zeros(2)

    state = resumed(State(params=np.full(2, 5.0), best=np.full(2, 3.0)), State(params=w, best=w))

    assert (state.params.tolist(), state.best.tolist()) == ([5, 5], [3, 3])
    assert state.params is w


def test_two_names_of_one_array_stay_one_if_they_were_so() -> None:
    w, trained = np.zeros(2), np.full(2, 5.0)

    state = resumed(State(params=trained, best=trained), State(params=w, best=w))

    assert state.params is state.best is w
    assert w.tolist() == [5, 5]


def test_two_of_three_names_that_became_others_leave_the_first_alone() -> None:
    w, other = np.zeros(1), np.ones(1)

    state = resumed(State(a=np.full(1, 2.0), b=other, c=other), State(a=w, b=w, c=w))

    assert (state.a[0], state.b[0], state.c[0]) == (2, 1, 1)


def test_a_view_gets_separate_numbers() -> None:
    flat = np.zeros(3)

    state = resumed(State(flat=np.arange(3.0), head=np.full(2, 7.0)), State(flat=flat, head=flat[:2]))

    assert (state.flat.tolist(), state.head.tolist()) == ([0, 1, 2], [7, 7])


def test_a_view_stays_one_if_it_was_one() -> None:
    there, here = np.arange(3.0), np.zeros(3)

    state = resumed(State(flat=there, head=there[:2]), State(flat=here, head=here[:2]))
    state.flat -= 1

    assert state.head.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("shared", "one", "two"),
    [
        ([], [0.5], [0.5, 0.25]),
        ({"w": np.zeros(1)}, {"w": np.full(1, 2.0)}, {"w": np.full(1, 3.0)}),
        (gradient_statistics(0, 0), gradient_statistics(1, 1), gradient_statistics(2, 3)),
    ],
)
def test_two_names_of_one_container_take_parts_of_their_own(shared: Any, one: Any, two: Any) -> None:
    state = resumed(State(a=one, b=two), State(a=shared, b=shared))

    assert (repr(state.a), repr(state.b)) == (repr(one), repr(two))


def test_two_names_of_one_generator_draw_on_by_themselves() -> None:
    one, two, mine = (np.random.default_rng(seed) for seed in (1, 2, 3))

    state = resumed(State(a=one, b=two), State(a=mine, b=mine))

    assert (state.a.normal(), state.b.normal()) == (one.normal(), two.normal())


def test_two_names_of_one_tensor_take_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", module("torch", Tensor=FakeTensor, from_numpy=FakeTensor.from_numpy))
    w = FakeTensor([0, 0])

    state = resumed(State(params=FakeTensor([5, 5]), best=FakeTensor([3, 3])), State(params=w, best=w.detach()))

    assert (state.params.values.tolist(), state.best.values.tolist()) == ([5, 5], [3, 3])
    assert state.params is w


def test_two_names_of_one_object_take_states_of_their_own() -> None:
    one, two, mine = FakeAdam(), FakeAdam(), FakeAdam()
    one.state, two.state = {0: {"step": 1}}, {0: {"step": 2}}

    state = resumed(State(a=one, b=two), State(a=mine, b=mine))

    assert (state.a.state, state.b.state) == (one.state, two.state)
    assert state.a is mine


def test_two_names_of_one_variable_that_had_other_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Variable:
        def __init__(self, values: float) -> None:
            self.values = np.array([values], np.float32)

        def numpy(self) -> Any:
            return self.values

        def assign(self, values: Any) -> None:
            self.values = values

    monkeypatch.setitem(sys.modules, "tensorflow", module("tensorflow", Variable=Variable))
    v, same = Variable(0), Variable(4)

    assert resumed(State(a=same, b=same), State(a=v, b=v)).b.values == 4
    with pytest.raises(UserError, match="two parts are one variable here"):
        resumed(State(a=Variable(1), b=Variable(2)), State(a=v, b=v))


def test_numbers_that_cannot_be_changed_are_not_shared() -> None:
    scalar, pair = np.float32(1), ()

    assert shared_parts(State(a=scalar, b=scalar, c=pair, d=pair, e=None, f=None, g="x", h="x")) == {}
