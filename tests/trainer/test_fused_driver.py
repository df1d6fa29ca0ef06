"""The native engine outside of Python: on 64-bit ARM (NEON), emulated; and watched for races between its threads."""

import platform
import shlex
import shutil
from typing import Any

import cirq
import numpy as np
import pytest

from qtj_trainer.simulate.fused.build import compiler
from qtj_trainer.simulate.fused.engine import Engine, lanes
from qtj_trainer.simulate.fused.plan import Plan, make_plan
from qtj_trainer.simulate.fused.shape import Tuning
from qtj_trainer.simulate.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.native_driver import Driver, Numbers, in_python

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
SYSTEM = "/usr/aarch64-linux-gnu"

pytestmark = pytest.mark.slow


def plan_of(lanes_of_plan: int, **options: Any) -> Plan:
    hybrid, line = hybrid_circuit(9), cirq.LineQubit.range(9)
    readouts = [*hybrid.readouts, cirq.X(line[0]) * cirq.Y(line[4]) * cirq.Z(line[8])]
    asked = specified(hybrid.circuit * 2, readouts, hybrid.inputs, hybrid.weights)
    return make_plan(asked, Tuning(lanes_of_plan, **options))


def numbers_of(plan: Plan, batch: int) -> Numbers:
    random = np.random.default_rng(0)
    upstream = random.normal(size=(batch, len(plan.observables.offsets)))
    return random.uniform(-2, 2, (batch, 9)), random.uniform(0, 2, 21), upstream


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
def test_arm_agrees(arm: Driver, options: dict[str, Any], threads: int) -> None:
    plan = plan_of(4, **options)
    numbers = numbers_of(plan, 6)

    expected = in_python(Engine(plan, variant="baseline", threads=threads), numbers)

    np.testing.assert_allclose(arm.results(plan, threads, numbers), expected, atol=1e-5 * np.abs(expected).max())


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
def test_threads_do_not_race(watched: Driver, options: dict[str, Any], batch: int, threads: int) -> None:
    plan = plan_of(lanes(), **options)
    numbers = numbers_of(plan, batch)

    np.testing.assert_array_equal(
        watched.results(plan, threads, numbers), in_python(Engine(plan, threads=threads, keep_bytes=1 << 20), numbers)
    )
