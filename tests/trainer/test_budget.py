"""All engines of a process share one budget, and the states that they work on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_simulator.fused.engine import Engine, lanes, lent_memory, shared_memory
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case
from tests.trainer.processes import Trainer
from tests.trainer.test_fused_exact import engine_of

MIB = 1 << 20


def engine(qubits: int = 14, tile_bits: int | None = None, **options: Any) -> Engine:
    return engine_of(Case(*hybrid_circuit(qubits)), tile_bits=tile_bits, **{"keep_bytes": 0, **options})


def gradients(of: Engine, batch: int, qubits: int = 14) -> tuple[NDArray[Any], NDArray[Any]]:
    inputs, weights = np.linspace(-1, 1, batch * qubits).reshape(batch, qubits), np.linspace(0, 1, 21)
    values = of.values(inputs, weights)
    return of.gradients(inputs, weights, np.ones_like(values))


Free = Callable[[int], None]


def test_engines_share_what_one_alone_would_have(free: Free) -> None:
    free(8 * MIB)
    engines = [engine(keep_bytes=None) for _ in range(8)]

    gradients(engines[0], 64)
    alone = lent_memory()
    for each in engines:
        gradients(each, 64)

    assert engines[0].states(64) > 8 * MIB, "one could fill the memory"
    assert alone == 2 * MIB
    assert lent_memory() == alone


def test_an_engine_takes_no_more_than_it_was_lent(free: Free) -> None:
    free(8 * MIB)
    rich, poor = engine(keep_bytes=1 << 30), engine(keep_bytes=None)
    before = rich.memory, poor.memory

    gradients(rich, 64)
    gradients(poor, 64)

    left_out = (rich.memory - before[0]) - (poor.memory - before[1])
    assert rich.states(64) - 2 * MIB <= left_out < rich.states(64) - 2 * MIB + rich.states(1)


def test_what_is_lent_comes_back_when_an_engine_dies(free: Free) -> None:
    free(4 * MIB)
    first = engine(keep_bytes=None)
    gradients(first, 64)
    full = lent_memory()

    del first

    assert full == MIB
    assert lent_memory() == 0


def test_room_is_looked_at_when_it_is_used(free: Free) -> None:
    free(0)
    one = engine(keep_bytes=None)
    free(400 * MIB)

    before = one.memory
    gradients(one, 4)

    assert one.memory - before >= one.states(4)


def test_an_engine_that_asks_for_no_more_looks_at_nothing(free: Free) -> None:
    one = engine(keep_bytes=None)
    free(0)
    gradients(one, 8)
    free(400 * MIB)

    for batch in (8, 4, 8, 1):
        gradients(one, batch)
    asked_no_more = lent_memory()
    gradients(one, 9)

    assert asked_no_more == 0
    assert lent_memory() == one.states(9)


def test_without_an_assumption_a_quarter_of_what_is_free_is_lent() -> None:
    one = engine(keep_bytes=None)

    gradients(one, 4)

    assert lent_memory() >= one.states(4), "this machine has more free than 4 MiB"


@pytest.mark.parametrize("keep", [0, 1 << 16, 1 << 30])
def test_what_is_kept_changes_no_bit(keep: int) -> None:
    first, second = engine(), engine()
    second.keep(keep)

    for one, other in zip(gradients(first, 5), gradients(second, 5), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("larger_first", [True, False])
def test_engines_of_different_sizes_work_in_the_same_place(*, larger_first: bool) -> None:
    sizes = (15, 14) if larger_first else (14, 15)
    expected = [gradients(engine(size), 3, size) for size in sizes]
    engines = [engine(size) for size in sizes]
    asked = []
    for each, size in zip(engines, sizes, strict=True):
        inputs, weights = np.linspace(-1, 1, 3 * size).reshape(3, size), np.linspace(0, 1, 21)
        values = each.values(inputs, weights)
        asked.append((each, inputs, weights, np.ones_like(values)))

    found = [each.gradients(*rest) for each, *rest in asked]

    for (one, other), (mine, yours) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, mine)
        np.testing.assert_array_equal(other, yours)


def test_a_beginning_outlives_the_engine_that_made_it() -> None:
    first, second = engine(), engine()
    expected = gradients(first, 3)

    del first

    for one, other in zip(gradients(second, 3), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("of", ["shared_by_eight", "shared_by_threads"])
def test_the_shared_states_are_those_of_one_engine_and_go_with_the_last(trainer: Trainer, of: str) -> None:
    """In a process of its own: other tests leave engines behind."""
    trainer.call(f"{__name__}.{of}")


def shared_by_eight() -> None:
    state = 8 << 14
    engines = [engine(threads=2) for _ in range(8)]
    own = [each.memory for each in engines]
    for each in engines:
        gradients(each, 6)

    assert own[0] - own[1] == state, "the others take the beginning from the first"
    assert own[1:] == own[1:2] * 7
    assert shared_memory() == 2 * (2 + 1) * state, "two threads with a state, one on its way, and one taken back"

    engines.clear()
    del each

    assert shared_memory() == 0


def shared_by_threads() -> None:
    """Threads share a state when examples are few, and the batch when they are many."""
    four, state, sizes = engine(tile_bits=14 - lanes().bit_length(), threads=4), 8 << 14, []

    for batch in (1, 6, 2):
        gradients(four, batch)
        sizes.append(shared_memory())

    assert sizes == [2 * state, 4 * 2 * state, 4 * 2 * state]
