"""The fused engine on 64-bit ARM (NEON): the same sources, cross-compiled and emulated, give what they give here."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_trainer.simulate.fused.build import build
from qtj_trainer.simulate.fused.engine import Engine
from qtj_trainer.simulate.fused.plan import Plan, make_plan
from qtj_trainer.simulate.fused.program import compile_plan
from qtj_trainer.workloads.qcnn import hybrid_circuit

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
SYSTEM = "/usr/aarch64-linux-gnu"
LANES = 4

Array = NDArray[Any]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which(COMPILER) and shutil.which(EMULATOR)),
        reason="needs gcc-aarch64-linux-gnu and qemu-user-static",
    ),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", COMPILER)
        build(folder / "libqtj_fused.so", machine="aarch64")
    source = Path(__file__).with_name("native_driver.c")
    command = [COMPILER, "-O1", source, folder / "libqtj_fused.so", "-Wl,-rpath,$ORIGIN", "-o", folder / "driver"]
    subprocess.run(command, check=True)
    return folder / "driver"


def on_arm(driver: Path, plan: Plan, threads: int, numbers: tuple[Array, Array, Array]) -> Array:
    """Returns values, gradients by inputs and gradients by weights, one after the other."""
    inputs, weights, upstream = numbers
    program = compile_plan(plan)
    shared, example = program.angles(inputs, weights)
    sizes = [program.integers.size, program.constants.size, shared.size, example.shape[1], program.readouts]
    header = np.array([*sizes, len(inputs), threads], np.int64)
    asked = [header, program.integers, program.constants, shared, example, upstream]
    (driver.parent / "input").write_bytes(b"".join(np.ascontiguousarray(each).tobytes() for each in asked))
    command = [EMULATOR, "-L", SYSTEM, str(driver), str(driver.parent / "input")]
    answer = subprocess.run(command, env=os.environ | {"LD_PRELOAD": ""}, capture_output=True, check=True)
    values, by_shared, by_example = np.split(
        np.frombuffer(answer.stdout), np.cumsum([upstream.size, shared.size])
    )  # fmt: skip
    by_inputs, by_weights = program.slopes(by_shared, by_example.reshape(example.shape))
    return np.concatenate([values, by_inputs.ravel(), by_weights])


@pytest.mark.parametrize("options", [{}, {"examples_in_lanes": False, "tile_bits": 3}], ids=["whole", "tiles"])
@pytest.mark.parametrize("threads", [1, 2])
def test_arm_agrees(driver: Path, options: dict[str, Any], threads: int) -> None:
    hybrid = hybrid_circuit(9)
    names = [[str(symbol) for symbol in symbols] for symbols in (hybrid.inputs, hybrid.weights)]
    plan = make_plan(hybrid.circuit, hybrid.readouts, inputs=names[0], weights=names[1], lanes=LANES, **options)
    random = np.random.default_rng(0)
    inputs, weights = random.uniform(-2, 2, (6, 9)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(6, len(hybrid.readouts)))
    engine = Engine(plan, variant="baseline", threads=threads)

    values, serial = engine.values(inputs, weights)
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream, serial)

    expected = np.concatenate([values.ravel(), by_inputs.ravel(), by_weights])
    np.testing.assert_allclose(
        on_arm(driver, plan, threads, (inputs, weights, upstream)), expected, atol=1e-5 * np.abs(expected).max()
    )
