"""Trees of arrays as JSON and NumPy's arrays, and back: the result equals the original."""

import json
import sys
from copy import copy
from types import ModuleType
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qtj_trainer.arrays.tree import State, describe, leaves, rebuild
from qtj_trainer.errors import UserError


class Moments(NamedTuple):
    """As the state of an optimizer of Optax."""

    count: Any
    mean: dict[str, Any]


def through_json(tree: object, like: object = None) -> Any:
    """Stores a tree and takes it back."""
    description, arrays = describe(tree)
    return rebuild(json.loads(json.dumps(description)), arrays, like)


def refusal(tree: object, like: object) -> str:
    with pytest.raises(ValueError) as refused:
        through_json(tree, like)
    return str(refused.value)


def test_arrays_have_the_path_in_the_tree_as_their_names() -> None:
    _, arrays = describe({"layers": [{"w": np.ones(2)}, {"w": np.zeros(3)}], "rate": 0.1})

    assert {name: each.tolist() for name, each in arrays.items()} == {
        "layers/0/w": [1, 1],
        "layers/1/w": [0, 0, 0],
    }


def test_numbers_texts_and_nothing_come_back_as_they_were() -> None:
    tree = {"step": 7, "rate": 0.1, "best": float("inf"), "name": "adam", "none": None, "on": True, "wide": 1 << 127}

    assert through_json(tree) == tree


def test_containers_come_back_as_they_were() -> None:
    tree = {0: [1, (2.5, [])], "pair": Moments(3, {"w": 4})}

    back = through_json(tree, {0: [], "pair": Moments(0, {"w": 0})})

    assert back == tree
    assert isinstance(back["pair"], Moments)


def test_arrays_of_numpy_are_changed_in_place_so_that_other_names_of_them_see_it() -> None:
    mine, scalar = np.zeros(2, np.float32), np.float32(0)
    state = State(w=mine, scalar=scalar)

    through_json(State(w=np.array([1, 2], np.float32), scalar=np.float32(5)), state)

    assert mine.tolist() == [1, 2]
    assert state.w is mine
    assert (type(state.scalar), state.scalar) == (np.float32, 5)


def test_a_list_may_have_grown_since_it_was_made() -> None:
    losses: list[float] = []
    state = State(losses=losses, seen={})

    through_json(State(losses=[0.5, 0.25], seen={"w": np.ones(1)}), state)

    assert losses == [0.5, 0.25]
    assert state.seen["w"].tolist() == [1]


@pytest.mark.parametrize("made", [jnp.arange(3.0), jnp.ones((2, 2), jnp.bfloat16), jnp.int32(4), jnp.array([1 + 2j])])
def test_arrays_of_jax_come_back_bit_by_bit(made: jax.Array) -> None:
    back = through_json({"w": made}, {"w": jnp.zeros_like(made)})["w"]

    assert isinstance(back, jax.Array)
    assert (back.dtype, back.shape) == (made.dtype, made.shape)
    assert np.asarray(back).tobytes() == np.asarray(made).tobytes()


def test_random_keys_of_jax_draw_on() -> None:
    key = jax.random.key(3)

    back = through_json({"key": key}, {"key": jax.random.key(0)})["key"]

    assert back.dtype == key.dtype
    assert jax.random.normal(back) == jax.random.normal(key)


def test_a_pytree_of_a_custom_class_is_restored_as_one() -> None:
    @jax.tree_util.register_pytree_node_class
    class Point:
        def __init__(self, x: Any) -> None:
            self.x = x

        def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, _: None, children: Any) -> Self:
            return cls(*children)

    back = through_json(Point(jnp.ones(2)), Point(jnp.zeros(2)))

    assert isinstance(back, Point)
    assert back.x.tolist() == [1, 1]


def test_a_generator_of_numpy_draws_on() -> None:
    mine, drawn = np.random.default_rng(1), np.random.default_rng(2)
    drawn.normal(size=5)

    assert through_json(drawn, mine) is mine
    assert mine.normal() == drawn.normal()


class FakeTensor:
    """As much of a tensor of PyTorch as is asked of one: it cannot be had for this test without 2 GB of CUDA."""

    def __init__(self, values: Any, *, requires_grad: bool = False) -> None:
        self.values, self.requires_grad = np.asarray(values, np.float32), requires_grad

    def detach(self) -> Self:
        return self.view().requires_grad_(False)

    def view(self) -> Self:
        """Returns another tensor of the same memory."""
        other = copy(self)
        other.values = self.values.view()
        return other

    def clone(self) -> Self:
        return type(self)(self.values.copy())

    def requires_grad_(self, on: bool) -> Self:
        self.requires_grad = on
        return self

    def untyped_storage(self) -> Self:
        return self

    def data_ptr(self) -> int:
        return int(self.values.ctypes.data)

    def cpu(self) -> Self:
        return self

    def numpy(self) -> Any:
        return self.values

    def copy_(self, other: Self) -> None:
        self.values[...] = other.values

    @classmethod
    def from_numpy(cls, values: Any) -> Self:
        return cls(values)


def module(name: str, **contents: object) -> ModuleType:
    """A module that holds only what is asked of it."""
    made = ModuleType(name)
    vars(made).update(contents)
    return made


class FakeAdam:
    """As an optimizer of PyTorch: it knows nothing of its parameters before the first step."""

    def __init__(self) -> None:
        self.state: dict[int, Any] = {}

    def state_dict(self) -> dict[str, Any]:
        return {"state": self.state, "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "fused": None, "params": [0]}]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if len(state["param_groups"]) != 1:
            raise ValueError("loaded state dict has a different number of parameter groups")
        self.state = state["state"]


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> type[FakeTensor]:
    monkeypatch.setitem(sys.modules, "torch", module("torch", Tensor=FakeTensor, from_numpy=FakeTensor.from_numpy))
    return FakeTensor


def test_a_tensor_is_changed_in_place(torch: type[FakeTensor]) -> None:
    mine = torch([0, 0])

    assert through_json({"w": torch([1, 2])}, {"w": mine})["w"] is mine
    assert mine.values.tolist() == [1, 2]


def test_an_object_with_a_state_dict_takes_its_state_though_it_has_none_yet(torch: type[FakeTensor]) -> None:
    trained, fresh = FakeAdam(), FakeAdam()
    trained.state[0] = {"step": torch(3), "exp_avg": torch([1, 2])}

    through_json(State(optimizer=trained), State(optimizer=fresh))

    assert isinstance(fresh.state[0]["exp_avg"], torch)
    assert fresh.state[0]["exp_avg"].values.tolist() == [1, 2]
    assert fresh.state_dict()["param_groups"] == trained.state_dict()["param_groups"]


def test_what_an_object_refuses_to_load_is_reported() -> None:
    class Two(FakeAdam):
        def state_dict(self) -> dict[str, Any]:
            return {"state": {}, "param_groups": [{}, {}]}

    assert "a different number of parameter groups" in refusal(Two(), FakeAdam())


@pytest.mark.parametrize(
    ("like", "sentence"),
    [
        (np.zeros(3, np.float32), "w is float32 (2,) there and float32 (3,) here"),
        (np.zeros(2), "w is float32 (2,) there and float64 (2,) here"),
        (jnp.zeros((2, 1)), "w is float32 (2,) there and float32 (2, 1) here"),
    ],
)
def test_an_array_of_another_shape_or_type_is_named(like: Any, sentence: str) -> None:
    assert refusal({"w": np.ones(2, np.float32)}, {"w": like}) == sentence


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"data": {1, 2}}, "data has the type set, which cannot be stored"),
        ({"a": {"w": object()}}, "a/w has the type object, which cannot be stored"),
        ({"a": np.array([None])}, "a cannot be stored (its numbers are of type object)"),
        ({"a": {(1, 2): 3}}, "a has the key (1, 2): a key must be a string or a whole number"),
        ({"a/b": np.ones(1), "a": {"b": np.ones(1)}}, "two arrays of the state have the name a/b"),
    ],
)
def test_what_cannot_be_stored_is_named(tree: object, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        describe(tree)

    assert sentence in str(refused.value)


def test_the_arrays_of_a_tree_are_found_as_they_are() -> None:
    w, b = np.ones(1), jnp.ones(1)

    assert [id(each) for each in leaves(State(params=[w, {"b": b}], step=3))] == [id(w), id(b)]
