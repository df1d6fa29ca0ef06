"""All engines of a process share one budget, and the states that they work on."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_trainer.simulate.fused.budget import Budget
from qtj_trainer.simulate.fused.engine import Engine, lanes, shared_memory
from qtj_trainer.simulate.fused.plan import make_plan
from qtj_trainer.simulate.fused.shape import Tuning
from qtj_trainer.simulate.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit

REPOSITORY = Path(__file__).parents[2]
MIB = 1 << 20


def engine(qubits: int = 14, tile_bits: int | None = None, **options: Any) -> Engine:
    hybrid = hybrid_circuit(qubits)
    asked = specified(hybrid.circuit, hybrid.readouts, hybrid.inputs, hybrid.weights)
    plan = make_plan(asked, Tuning(lanes(), tile_bits=tile_bits))
    return Engine(plan, **{"keep_bytes": 0, **options})


def gradients(of: Engine, batch: int, qubits: int = 14) -> tuple[NDArray[Any], NDArray[Any]]:
    inputs, weights = np.linspace(-1, 1, batch * qubits).reshape(batch, qubits), np.linspace(0, 1, 21)
    values, serial = of.values(inputs, weights)
    return of.gradients(inputs, weights, np.ones_like(values), serial)


def test_engines_share_what_one_alone_would_have() -> None:
    budget, engines = Budget(lambda: 8 * MIB), [engine() for _ in range(8)]

    budget.lend(engines[0], 64)
    alone = budget.lent
    for each in engines:
        budget.lend(each, 64)

    assert engines[0].states(64) > 8 * MIB, "one could fill the memory"
    assert alone == 2 * MIB
    assert budget.lent <= 8 * MIB // 3, "what is lent and not yet taken may count as free once more"


def test_an_engine_takes_no_more_than_it_was_lent() -> None:
    budget, rich, poor = Budget(lambda: 8 * MIB), engine(), engine()
    rich.keep(1 << 30)
    budget.lend(poor, 64)
    before = rich.memory, poor.memory

    gradients(rich, 64)
    gradients(poor, 64)

    left_out = (rich.memory - before[0]) - (poor.memory - before[1])
    assert rich.states(64) - 2 * MIB <= left_out < rich.states(64) - 2 * MIB + rich.states(1)


def test_what_is_lent_comes_back_when_an_engine_dies() -> None:
    budget, first = Budget(lambda: 4 * MIB), engine()
    budget.lend(first, 64)
    full = budget.lent

    del first

    assert full == MIB
    assert budget.lent == 0


def test_room_is_looked_at_when_it_is_used() -> None:
    room = [0]
    budget, one = Budget(lambda: room[0]), engine()
    room[0] = 400 * MIB

    budget.lend(one, 4)
    before = one.memory
    gradients(one, 4)

    assert one.memory - before >= one.states(4)


def test_an_engine_that_asks_for_no_more_looks_at_nothing() -> None:
    looks: list[int] = []

    def room() -> int:
        looks.append(1)
        return MIB

    budget, one = Budget(room), engine()

    for batch in (8, 4, 8, 1):
        budget.lend(one, batch)

    assert len(looks) == 1


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
    serials = []
    for each, size in zip(engines, sizes, strict=True):
        inputs, weights = np.linspace(-1, 1, 3 * size).reshape(3, size), np.linspace(0, 1, 21)
        values, serial = each.values(inputs, weights)
        serials.append((each.gradients, (inputs, weights, np.ones_like(values), serial)))

    found = [taken_back(*numbers) for taken_back, numbers in serials]

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
def test_the_shared_states_are_those_of_one_engine_and_go_with_the_last(of: str) -> None:
    """In a process of its own: other tests leave engines behind."""
    script = f"from tests.trainer.test_budget import {of}; {of}()"
    ended = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr


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
