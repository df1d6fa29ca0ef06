"""Damaged plans for the native engine, with every access and every shift watched: refused or harmless."""

import platform
import shlex
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_simulator.fused.build import compiler
from qtj_simulator.fused.engine import lanes
from qtj_simulator.fused.program import CompiledPlan, compile_plans, packed
from tests.fuzz.corpus import new_seed
from tests.trainer.native_driver import Driver
from tests.trainer.test_fused_damaged import INPUTS, READOUTS, WEIGHTS
from tests.trainer.test_fused_driver import plan_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(compiler() is None, reason="needs a C compiler")]

Array = NDArray[Any]
FLAGS = ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SHAPES: tuple[dict[str, Any], ...] = (
    {"examples_in_lanes": True},
    {"examples_in_lanes": False},
    {"examples_in_lanes": False, "tile_bits": 3},
)
AFTER_SIZES = 4
"""Before it are the sizes of a state: a large one is harmless, but large. `test_fused_damaged.py` tries them."""
MOST = 64
"""The most inputs, weights and readouts that a damaged plan may claim here: the caller makes the arrays."""
ODD_NUMBERS = (np.nan, np.inf, -np.inf, 1e300, 5e-324, -0.0, 0.0, 1e9)
PLANS = 2000


@cache
def good(shape: int) -> tuple[Array, Array]:
    """Constants and integers of a plan."""
    compiled = compile_plans([plan_of(lanes(), **SHAPES[shape])])
    return compiled.constants, compiled.integers[0]


def damaged(random: Random) -> tuple[Array, Array]:
    """The same, with one to four other numbers in it."""
    constants, integers = (each.copy() for each in good(random.randrange(len(SHAPES))))
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.2:
            constants[random.randrange(constants.size)] = random.choice(ODD_NUMBERS)
        else:
            small, near = random.randint(-3, 40), int(random.choice(integers[AFTER_SIZES:])) + random.choice((-1, 1))
            wide = random.randint(-(2**31), 2**31 - 1)
            integers[random.randrange(AFTER_SIZES, integers.size)] = random.choice((small, small, near, wide))
    return constants, integers


def damaged_plans(seed: int) -> Iterator[list[bytes]]:
    """Yields damaged plans, with the right checksums, as `survived` takes them."""
    random = Random(seed)
    for _ in range(PLANS):
        constants, integers = damaged(random)
        if all(0 <= size <= MOST for size in integers[[INPUTS, WEIGHTS, READOUTS]]):
            yield record(constants, integers)


def record(constants: Array, integers: Array) -> list[bytes]:
    data = packed(CompiledPlan(constants, (integers,)))
    return [np.array([len(data), *integers[[INPUTS, WEIGHTS, READOUTS]]], np.int64).tobytes(), data]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    folder, command = tmp_path_factory.mktemp("fuzz"), shlex.join(compiler() or [])
    return Driver.built(folder, command, machine=platform.machine(), flags=FLAGS, programs=("native_fuzz",))


@pytest.mark.timeout(1200)
def test_sanitizers_find_nothing_in_damaged_plans(watched: Driver) -> None:
    seed = new_seed()
    plans = list(damaged_plans(seed))
    assert watched.survived([record(*good(shape)) for shape in range(len(SHAPES))], "good plans") == len(SHAPES)

    ran = watched.survived(plans, f"seed {seed}")

    assert len(plans) // 50 < ran < len(plans), "some run, and some are refused"
