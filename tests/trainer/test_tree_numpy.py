"""The state of a program of NumPy alone: what is stored comes back, into the program as it is written now."""

import sys
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest

from qtj_trainer.arrays.tree import State, array_types, describe, is_opaque, parts_of, path_of, rebuild, variable_counts
from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.workloads.options import Options


class Adam(NamedTuple):
    steps: int
    mean: Any


class AdamWithRate(NamedTuple):
    steps: int
    mean: Any
    rate: float


class AdamReordered(NamedTuple):
    mean: Any
    steps: int


class Built:
    """As an optimizer of Keras: it shows its variables."""

    def __init__(self, *variables: Any) -> None:
        self.variables = list(variables)


class Scheduler:
    """As an object of PyTorch: it hides what it has."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def state_dict(self) -> dict[str, float]:
        return {"rate": self.rate}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.rate = state["rate"]


def ones(*shape: int) -> Any:
    return np.ones(shape or (2,))


def resumed(before: Any, after: Any) -> Any:
    """Restores the checkpoint of one program in another; returns the part that both have."""
    state = State(part=after)
    ArrayState(state).restore(ArrayState(State(part=before)).state())
    return state.part


def refusal(before: Any, after: Any) -> str:
    with pytest.raises(UserError, match=r"^the last checkpoint does not fit the state of this program: ") as refused:
        resumed(before, after)
    return str(refused.value).partition("program: ")[2]


def fingerprint(part: Any) -> str:
    return ArrayState(State(part=part)).fingerprint(Options())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Adam(1, ones()), AdamWithRate(0, ones(), 0.1)),
        (AdamWithRate(1, ones(), 0.1), Adam(0, ones())),
    ],
)
def test_a_named_tuple_that_got_or_lost_a_field_is_refused_with_both_lists(before: Any, after: Any) -> None:
    assert fingerprint(before) == fingerprint(after), "so the checkpoint is taken for one of this program"

    assert refusal(before, after) == (
        f"part has the fields {', '.join(before._fields)} there and {', '.join(after._fields)} here"
    )


def test_a_named_tuple_whose_fields_have_another_order_gets_each_by_its_name() -> None:
    back = resumed(Adam(3, ones()), AdamReordered(np.zeros(2), 0))

    assert isinstance(back, AdamReordered)
    assert (back.steps, back.mean.tolist()) == (3, [1, 1])


def test_a_named_tuple_that_is_a_plain_one_now_keeps_its_values() -> None:
    back = resumed((3, ones()), (0, np.zeros(2)))

    assert (type(back), back[0], back[1].tolist()) == (tuple, 3, [1, 1])


def test_weights_of_another_named_tuple_are_refused_too() -> None:
    stored = ArrayState(Adam(1, ones())).dump()

    with pytest.raises(
        UserError, match=r"^they do not fit: it has the fields steps, mean there and steps, mean, rate h"
    ):
        ArrayState(AdamWithRate(0, ones(), 0.1)).load(stored, otherwise="they do not fit")


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_each_generator_draws_on(kind: Any) -> None:
    drawn, mine = (np.random.Generator(kind(seed)) for seed in (1, 2))
    drawn.normal(size=3)
    drawn.integers(7)

    assert resumed(drawn, mine) is mine
    assert mine.normal() == drawn.normal()
    assert mine.integers(1 << 20) == drawn.integers(1 << 20)


def test_the_state_of_another_generator_is_refused() -> None:
    before, after = np.random.Generator(np.random.MT19937(1)), np.random.default_rng(1)

    assert refusal(before, after) == "state must be for a PCG64 RNG"


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((0, 3)), np.array([True, False]), np.array(["ab", "c"]), np.array([b"ab", b"c"]),
        np.array(["2026-01-01"], "M8[D]"), np.array([3], "m8[s]"), np.array([1 + 2j], np.complex64),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(10.0)[::2], np.arange(3, dtype=">f8"),
        np.array(7), np.array([np.nan, -np.inf]), np.array([1, 2], np.float16),
    ],
    ids=lambda values: f"{values.dtype} {values.shape}",
)  # fmt: skip
def test_arrays_of_each_type_come_back(values: Any) -> None:
    back = resumed(values, np.zeros_like(values))

    assert (back.dtype, back.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("dtype", [[("mean", "f4"), ("count", "i8")], [("object", object)]])
def test_an_array_of_records_is_named_before_the_first_step(dtype: Any) -> None:
    with pytest.raises(UserError, match=r"^moments cannot be stored \(its numbers are of type \[\(.*\): give an array"):
        ArrayState(State(moments=np.zeros(2, dtype)))


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "text", "", float("inf"), 1 << 200, [], {}, (), [[1, "a"], {"b": (None,)}], {3: "x"}]
)
def test_values_come_back_as_they_were(value: Any) -> None:
    back = resumed(value, value)

    assert (type(back), back) == (type(value), value)


def test_a_number_that_is_not_one_comes_back_as_such() -> None:
    assert np.isnan(resumed(float("nan"), 0.0))


@pytest.mark.parametrize("kind", [OrderedDict, lambda items: defaultdict(int, items)])
def test_a_kind_of_dict_stays_what_it_is(kind: Any) -> None:
    mine = kind({"kept": 0, "dropped": 5})

    back = resumed(kind({"kept": 1, "new": 2}), mine)

    assert back is mine
    assert dict(mine) == {"kept": 1, "new": 2}


def test_keys_that_differ_in_their_type_alone_are_two() -> None:
    assert resumed({1: 10, "1": "ten"}, {}) == {1: 10, "1": "ten"}


def test_arrays_under_keys_that_differ_in_their_type_alone_have_one_name() -> None:
    with pytest.raises(UserError, match=r"^two arrays of the state have the name 1: give one of them another key"):
        describe({1: ones(), "1": ones()})


@pytest.mark.parametrize("key", [None, 1.5, (1,), b"w"])
def test_a_key_that_json_does_not_have_is_named(key: Any) -> None:
    with pytest.raises(UserError) as refused:
        describe({"params": {key: ones()}})

    assert str(refused.value) == f"params has the key {key!r}: a key must be a string or a whole number"


def test_what_was_one_kind_of_container_may_be_another_now() -> None:
    assert resumed([1, 2], {"a": 1}) == [1, 2]
    assert resumed({"a": 1}, [1, 2]) == {"a": 1}
    assert resumed((1, [2]), [0]) == (1, [2])


def test_what_an_object_held_needs_an_object_of_its_kind() -> None:
    assert refusal(np.random.default_rng(1), 3) == "there is no generator here to put them into"
    assert refusal(Scheduler(0.5), {"rate": 1}) == "there is no state_dict here to put them into"


def test_an_object_that_hides_its_state_loads_it() -> None:
    mine = Scheduler(0.1)

    assert resumed(Scheduler(0.5), mine) is mine
    assert mine.rate == 0.5


def test_variables_are_restored_in_place_and_counted() -> None:
    w, mine = np.zeros(2), Built(np.zeros(2))
    mine.variables[0] = w

    resumed(Built(ones()), mine)

    assert w.tolist() == [1, 1]
    assert refusal(Built(ones(), ones()), Built(ones())) == "part has 2 variables there and 1 here"


def test_the_variables_of_each_object_are_counted_by_its_path() -> None:
    description, _ = describe({"a": Built(ones()), "b": [Built(), 3]})

    assert variable_counts(description) == {"a": 1, "b/0": 0}
    assert variable_counts(describe(Built(ones(), ones()))[0]) == {"": 2}


def test_types_are_those_of_the_arrays_that_a_program_shows() -> None:
    description, _ = describe({"w": ones(2, 3), "i": np.int8(1), "n": 1, "hidden": Scheduler(0.5), "g": [ones()]})

    assert array_types(description) == {"w": "float64 (2, 3)", "i": "int8 ()", "g/0": "float64 (2,)"}


def test_a_lone_array_has_a_name_of_its_own() -> None:
    description, arrays = describe(ones())

    assert list(arrays) == ["array"]
    assert rebuild(description, arrays).tolist() == [1, 1]


def test_what_is_rebuilt_without_a_program_is_made_of_plain_containers() -> None:
    tree = {"a": [ones(), (1, {"b": 2})], "pair": Adam(1, ones())}

    back = rebuild(*describe(tree))

    assert {name: type(part) for name, part in back.items()} == {"a": list, "pair": tuple}
    assert back["a"][1] == (1, {"b": 2})


def test_parts_are_found_by_their_keys() -> None:
    assert parts_of(State(a=1, b=2)) == {"a": 1, "b": 2}
    assert parts_of(Adam(1, 2)) == {"steps": 1, "mean": 2}
    assert parts_of((5, 6)) == parts_of([5, 6]) == {0: 5, 1: 6}
    assert parts_of(3) == parts_of("text") == parts_of(ones()) == {}


def test_a_path_begins_without_a_slash() -> None:
    assert (path_of("", "w"), path_of("a", 0), path_of("", 0)) == ("w", "a/0", "0")


def test_opaque_is_what_only_loads_a_state() -> None:
    assert is_opaque(np.random.default_rng())
    assert is_opaque(Scheduler(0.5))
    assert not is_opaque(Built())
    assert not is_opaque({"load_state_dict": 1})


def test_a_part_that_is_to_be_separate_leaves_what_it_was_part_of_alone() -> None:
    shared = {"w": np.zeros(2)}
    description, arrays = describe({"a": {"w": ones()}})

    back = rebuild(description, arrays, {"a": shared}, separate={"a", "a/w"})

    assert back["a"] is not shared
    assert (back["a"]["w"].tolist(), shared["w"].tolist()) == ([1, 1], [0, 0])


def test_no_framework_is_imported_to_store_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jax", "torch", "tensorflow", "keras"):
        monkeypatch.setitem(sys.modules, name, None)

    assert resumed({"w": ones(), "n": [1]}, {"w": np.zeros(2), "n": []})["n"] == [1]
