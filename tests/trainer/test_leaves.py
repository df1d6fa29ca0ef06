"""Single arrays of NumPy and JAX, and variables of TensorFlow's kind, as NumPy's and back."""

import sys
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_trainer.arrays.leaves import framework_of, from_numpy, is_weak, put, separate_copy, to_numpy
from tests.trainer.test_tree import FakeTensor, torch

__all__ = ["torch"]


class Variable:
    """A variable of TensorFlow or Keras, as far as anybody looks."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def numpy(self) -> NDArray[Any]:
        return self.values

    def assign(self, values: NDArray[Any]) -> None:
        self.values = values

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        return self.values


@pytest.fixture(params=["tensorflow", "keras"])
def framework(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A framework whose variables are the ones above."""
    monkeypatch.setitem(sys.modules, request.param, SimpleNamespace(Variable=Variable))
    other = {"tensorflow": "keras", "keras": "tensorflow"}[request.param]
    monkeypatch.setitem(sys.modules, other, SimpleNamespace())
    return str(request.param)


@pytest.mark.parametrize(
    ("leaf", "name"),
    [
        (np.zeros(2), "numpy"), (np.float32(1), "numpy"), (jnp.zeros(2), "jax"), (jax.random.key(0), "jax"),
        (1.0, ""), ([1.0], ""), ("text", ""), (None, ""), (np, ""),
    ],
)  # fmt: skip
def test_an_array_is_known_by_its_framework(leaf: object, name: str) -> None:
    assert framework_of(leaf) == name


def test_no_framework_is_imported_to_look_at_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    assert framework_of(object()) == ""
    assert "torch" not in sys.modules


def test_a_variable_is_known_by_its_framework(framework: str) -> None:
    assert framework_of(Variable(1.0)) == framework


def test_numbers_of_numpy_are_shared_and_not_copied() -> None:
    values = np.arange(3)

    assert to_numpy(values) is values


@pytest.mark.parametrize("leaf", [np.array([object()]), np.array(["a", None], dtype=object)])
def test_an_array_of_objects_has_no_numbers(leaf: Any) -> None:
    with pytest.raises(TypeError, match="its numbers are of type object"):
        to_numpy(leaf)


def test_a_key_of_jax_is_its_numbers() -> None:
    assert to_numpy(jax.random.key(3)).tolist() == jax.random.key_data(jax.random.key(3)).tolist()


def test_numbers_are_put_into_an_array_in_place() -> None:
    mine = np.zeros(2)

    assert put(mine, np.array([1.0, 2.0])) is mine
    assert mine.tolist() == [1, 2]


def test_an_array_that_cannot_be_changed_is_replaced() -> None:
    fixed = np.zeros(2)
    fixed.flags.writeable = False

    replaced = put(fixed, np.array([1.0, 2.0]))

    assert (replaced.tolist(), fixed.tolist()) == ([1, 2], [0, 0])


def test_a_single_number_of_numpy_stays_one_of_its_type() -> None:
    replaced = put(np.float32(0), np.array(2, np.float32))

    assert (type(replaced), replaced) == (np.float32, 2)


def test_an_array_of_jax_is_replaced_by_one_on_the_same_devices() -> None:
    like = jnp.zeros(2)

    replaced = put(like, np.array([1, 2], np.float32))

    assert isinstance(replaced, jax.Array)
    assert (replaced.tolist(), replaced.sharding, like.tolist()) == ([1, 2], like.sharding, [0, 0])


def test_a_key_of_jax_keeps_its_kind_of_generator() -> None:
    like = jax.random.key(0, impl="rbg")
    drawn = jax.random.key(7, impl="rbg")

    replaced = put(like, to_numpy(drawn))

    assert replaced.dtype == like.dtype
    assert jax.random.normal(replaced) == jax.random.normal(drawn)


@pytest.mark.parametrize("weak", [True, False])
def test_a_weak_type_of_jax_is_as_weak_as_it_was(weak: bool) -> None:
    replaced = put(jnp.float32(0), np.array(0.5, np.float32), weak=weak)

    assert (is_weak(replaced), float(replaced)) == (weak, 0.5)
    assert is_weak(from_numpy("jax", np.array(0.5, np.float32), weak=weak)) is weak


def test_only_arrays_of_jax_are_weak() -> None:
    assert is_weak(jnp.asarray(0.1))
    assert not is_weak(jnp.float32(0.1))
    assert not is_weak(np.float32(0.1))
    assert not is_weak(SimpleNamespace(weak_type=True))


def test_a_variable_is_assigned_to(framework: str) -> None:
    variable = Variable([0.0, 0.0])

    assert framework_of(variable) == framework
    assert put(variable, np.array([1.0, 2.0])) is variable
    assert to_numpy(variable).tolist() == [1, 2]


def test_a_variable_of_a_strategy_is_read_where_this_process_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mirrored(Variable):
        @property
        def distribute_strategy(self) -> Any:
            return SimpleNamespace(experimental_local_results=lambda _: (Variable(5.0), Variable(6.0)))

    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(Variable=Variable))

    assert to_numpy(Mirrored(1.0)) == 5


def test_a_twin_of_an_array_shares_no_memory_with_it() -> None:
    mine = np.zeros(2)

    other = separate_copy(mine, np.zeros(2))
    other[0] = 1

    assert mine.tolist() == [0, 0]


def test_a_twin_of_what_cannot_be_changed_is_itself() -> None:
    mine = jnp.zeros(2)

    assert separate_copy(mine, np.ones(2)) is mine


@pytest.mark.usefixtures("framework")
def test_a_variable_has_no_twin_with_other_numbers() -> None:
    variable = Variable([1.0, np.nan])

    assert separate_copy(variable, np.array([1.0, np.nan])) is variable
    with pytest.raises(ValueError, match=r"^two parts are one variable here, and had different values: give each part"):
        separate_copy(variable, np.array([2.0, np.nan]))


def test_a_tensor_of_pytorch_is_copied_into_and_its_twin_is_trained_as_it_is(torch: type[FakeTensor]) -> None:
    tensor = torch(np.zeros(2), requires_grad=True)

    assert framework_of(tensor) == "torch"
    other = separate_copy(tensor, np.zeros(2))
    assert put(tensor, np.array([1.0, 2.0])) is tensor

    assert to_numpy(tensor).tolist() == [1, 2]
    assert (other.values.tolist(), other.requires_grad) == ([0, 0], True)
    assert separate_copy(torch(np.zeros(2)), np.zeros(2)).requires_grad is False


@pytest.mark.usefixtures("torch")
def test_a_new_tensor_of_pytorch_shares_no_memory_with_the_stored_numbers() -> None:
    stored = np.zeros(2, np.float32)

    made = from_numpy("torch", stored)
    made.values[0] = 1

    assert stored.tolist() == [0, 0]


def test_a_new_array_is_of_the_framework_it_was_of() -> None:
    values = np.array([1, 2], np.float32)

    assert isinstance(from_numpy("jax", values), jax.Array)
    assert from_numpy("numpy", values) is values
