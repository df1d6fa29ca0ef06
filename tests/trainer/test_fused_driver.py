"""The native engine outside of Python: on 64-bit ARM (NEON), emulated; and watched for races between its threads."""

import platform
import shlex
import shutil
from typing import Any

import numpy as np
import pytest

from qtj_simulator.fused.build import compiler
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import Plan, fused_circuit
from qtj_simulator.fused.shape import Tuning
from tests.trainer.native_driver import Array, Driver, in_python
from tests.trainer.test_fused_exact import with_a_string
from tests.trainer.test_noise_native import arrays_for, compiled, run

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
SYSTEM = "/usr/aarch64-linux-gnu"

pytestmark = pytest.mark.slow


CASE = with_a_string(9)


def plan_of(lanes_of_plan: int, **options: Any) -> Plan:
    return fused_circuit(CASE.specification).plan(Tuning(lanes_of_plan, **options))


SHAPES = pytest.mark.parametrize(
    "options",
    [{"examples_in_lanes": True}, {"examples_in_lanes": False}, {"examples_in_lanes": False, "tile_bits": 3}],
    ids=["examples", "whole", "tiles"],
)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    if not (shutil.which(COMPILER) and shutil.which(EMULATOR)):
        pytest.skip("needs gcc-aarch64-linux-gnu and qemu-user-static; make test-long installs them where there is apt")
    folder = tmp_path_factory.mktemp("arm")
    return Driver.built(folder, COMPILER, machine="aarch64", runner=(EMULATOR, "-L", SYSTEM))


@SHAPES
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("lanes_of_plan", "ending", "tolerance"), [(4, "", 1e-5), (2, "_double", 1e-12)])
def test_arm_agrees(
    arm: Driver, options: dict[str, Any], threads: int, lanes_of_plan: int, ending: str, tolerance: float
) -> None:
    plan = plan_of(lanes_of_plan, **options)
    numbers = CASE.numbers(6)

    found = arm.results(plan, threads, numbers, is_double=bool(ending))

    expected = in_python(Engine(plan, variant=f"baseline{ending}", threads=threads), numbers)
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("trajectories", [2, 21, 40])
def test_noise_on_arm_agrees(arm: Driver, trajectories: int) -> None:
    np.testing.assert_allclose(*trajectories_of(arm, trajectories, threads=2, variant="baseline"), atol=2e-4)


def trajectories_of(driver: Driver, trajectories: int, *, threads: int, variant: str = "") -> tuple[Array, Array]:
    """Values and gradients of a noisy circuit, by the driver and in this process."""
    program, matrices, terms = compiled(3)
    arrays = arrays_for(program, matrices, terms, trajectories)
    rows, blocks, channels = len(arrays["matrices"]), matrices.shape[1], arrays["uniforms"].shape[2]
    header = [program.integers.size, program.branches.size, rows, trajectories, blocks, channels, terms, threads]
    found = driver.trajectories(header, list(arrays.values())[:5])
    problem, *expected = run(program, matrices, terms, variant=variant, trajectories=trajectories, threads=1)
    assert problem == ""
    return found, np.concatenate([each.ravel() for each in expected])


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """Loads and stores of every thread are compared by ThreadSanitizer, which needs addresses that are not random."""
    machine, flags = platform.machine(), ("-g", "-fsanitize=thread")
    folder, command = tmp_path_factory.mktemp("races"), shlex.join(compiler() or [])
    return Driver.built(folder, command, machine=machine, flags=flags, runner=("setarch", machine, "-R"))


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
@SHAPES
@pytest.mark.parametrize("batch", [2, 70])
@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("variant", ["", "double"])
def test_threads_do_not_race(watched: Driver, options: dict[str, Any], batch: int, threads: int, variant: str) -> None:
    plan = plan_of(lanes(variant), **options)
    numbers = CASE.numbers(batch)

    found = watched.results(plan, threads, numbers, is_double=bool(variant))

    engine = Engine(plan, variant=variant, threads=threads, keep_bytes=1 << 20)
    np.testing.assert_array_equal(found, in_python(engine, numbers))


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("trajectories", [2, 200])
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_of_noise_do_not_race(watched: Driver, trajectories: int, threads: int) -> None:
    np.testing.assert_array_equal(*trajectories_of(watched, trajectories, threads=threads))
