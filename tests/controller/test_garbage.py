"""Full collections look at what is new, and now and then at all."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from qtj_operator.cluster.python_gc import short_collections

HOURS = 3600.0


class Node:
    """An object that may be in a cycle."""

    def __init__(self) -> None:
        self.peer: Node | None = None


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock of collections that are short during the test."""
    clock = Clock()
    with short_collections(clock):
        yield clock


def frozen_cycle() -> weakref.ref[Node]:
    """Returns a cycle that was in use during a full collection, and is not any more."""
    node = Node()
    node.peer = Node()
    node.peer.peer = node
    gc.collect()
    return weakref.ref(node)


@pytest.mark.usefixtures("clock")
def test_what_survives_a_full_collection_is_not_looked_at_again() -> None:
    kept = [[each] for each in range(1000)]
    before = gc.get_freeze_count()

    gc.collect()

    assert gc.get_freeze_count() >= before + len(kept)
    assert not any(each is kept for each in gc.get_objects())


@pytest.mark.usefixtures("clock")
def test_a_collection_of_young_objects_freezes_nothing() -> None:
    before = gc.get_freeze_count()
    kept = [[each] for each in range(1000)]

    gc.collect(1)

    assert gc.get_freeze_count() <= before
    assert len(kept) == 1000


@pytest.mark.usefixtures("clock")
def test_a_cycle_of_new_objects_is_freed() -> None:
    node = Node()
    node.peer = node
    gone = weakref.ref(node)
    del node

    gc.collect()

    assert gone() is None


def test_a_cycle_that_was_frozen_is_freed_some_hours_later(clock: Clock) -> None:
    cycle = frozen_cycle()
    gc.collect()
    assert cycle() is not None

    clock.now = 6 * HOURS
    gc.collect()

    assert cycle() is None


def test_after_the_end_collections_are_as_before() -> None:
    usual = gc.get_threshold()
    with short_collections():
        cycle = frozen_cycle()
        assert gc.get_threshold() < usual, "full ones are more frequent"

    gc.collect()

    assert (cycle(), gc.get_freeze_count(), gc.get_threshold()) == (None, 0, usual)


def test_only_one_collection_in_some_hours_looks_at_all(clock: Clock) -> None:
    clock.now = 6 * HOURS
    gc.collect()
    cycle = frozen_cycle()
    clock.now = 12 * HOURS - 1
    gc.collect()

    assert cycle() is not None
