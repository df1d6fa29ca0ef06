"""Subclasses of the types that a state may have: known ones come back as they were, others are refused by name."""

from collections import Counter, OrderedDict, defaultdict, deque
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, Self

import numpy as np
import pennylane.numpy
import pytest
from numpy.typing import NDArray

from qtj_trainer.arrays.tree import describe
from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import ArrayState
from tests.trainer.test_tree_numpy import resumed

MASKED = np.ma.masked_equal([0.0, 1.0], 1.0)  # type: ignore[no-untyped-call]


class Config(dict[str, Any]):
    path = "config.yaml"


class History(list[float]):
    best = 0.0


class Shape(tuple[int, ...]):
    __slots__ = ()


class Seconds(float):
    pass


class Steps(int):
    pass


class Phase(StrEnum):
    WARM_UP = "warm-up"


class Level(IntEnum):
    LOW = 1


class Units(NDArray[Any]):
    unit = "s"


class Pair(NamedTuple):
    a: int
    b: int


class Ordered(Pair):
    """A named tuple that makes its values otherwise than it is given them."""

    __slots__ = ()

    def __new__(cls, a: int, b: int) -> Self:
        return super().__new__(cls, min(a, b), 2 * max(a, b))


class Noted(Pair):
    """A named tuple with room for more than its fields."""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Counter(a=1, b=2), Counter(a=1)), (Counter(b=3), Counter(a=5, b=1)), (Counter(), Counter(a=1)),
        (OrderedDict(b=1, a=2), OrderedDict(a=0, b=0)), (defaultdict(int, a=1), defaultdict(int, b=5)),
    ],
)  # fmt: skip
def test_a_kind_of_dict_has_exactly_what_was_stored_in_its_order(before: Any, after: Any) -> None:
    back = resumed(before, after)

    assert back is after
    assert list(back.items()) == list(before.items())


def test_a_counter_in_a_list_is_set_and_not_added_to() -> None:
    assert resumed([{"seen": Counter(a=1)}], [{"seen": Counter(a=7)}]) == [{"seen": Counter(a=1)}]


@pytest.mark.parametrize("new", [Counter(a=2), OrderedDict(b=1, a=2)])
def test_a_kind_of_dict_by_which_a_list_has_grown_is_of_that_kind(new: Any) -> None:
    (back,) = resumed([new], [])

    assert (type(back), list(back.items())) == (type(new), list(new.items()))


def test_a_dict_of_defaults_keeps_its_default() -> None:
    assert resumed(defaultdict(list, a=[1]), defaultdict(list))["new"] == []


def test_a_named_tuple_of_a_class_of_its_own_has_the_values_that_were_stored() -> None:
    stored = Ordered(3, 1)

    back = resumed(stored, Ordered(0, 0))

    assert (type(back), back) == (Ordered, stored)


@pytest.mark.parametrize("kind", [np.ndarray, np.matrix, pennylane.numpy.tensor])
def test_an_array_of_a_known_kind_comes_back(kind: Any) -> None:
    mine = np.zeros((1, 2)).view(kind)

    back = resumed(np.array([[1.0, 2.0]]).view(kind), mine)

    assert back is mine
    assert back.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("value", "base"),
    [
        (Config(a=1), "dict"), (History([1.0]), "list"), (Shape((1, 2)), "tuple"), (Seconds(1), "float"),
        (Steps(1), "int"), (Phase.WARM_UP, "str"), (Level.LOW, "int"), (np.zeros(2).view(Units), "ndarray"),
        (MASKED, "ndarray"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("nested", [False, True])
def test_an_unknown_subclass_is_refused_by_name(value: Any, base: str, *, nested: bool) -> None:
    with pytest.raises(UserError) as refused:
        ArrayState({"part": [value] if nested else value})

    assert str(refused.value) == (
        f"{'part/0' if nested else 'part'} has the type {type(value).__name__}, of which only the {base} in it could"
        f" be stored: give a plain {base}"
    )


def test_a_named_tuple_that_holds_more_than_its_fields_is_refused() -> None:
    noted = Noted(1, 2)
    noted.note = "mine"  # type: ignore[attr-defined]

    with pytest.raises(UserError, match=r"^it has the type Noted, of which only the tuple in it could be stored"):
        describe(noted, "it")


def test_a_queue_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"^last has the type deque, which cannot be stored: give arrays, numbers, and"):
        describe({"last": deque([1.0], maxlen=3)})
