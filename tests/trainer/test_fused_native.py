"""The native engine's interface: it believes nothing, and says what it cannot do."""

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

from qtj_simulator.engines import default_threads
from qtj_simulator.fused.build import build, build_face, compiler
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import library
from qtj_simulator.fused.plan import Plan, fused_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import specified
from tests.trainer.processes import REPOSITORY, Trainer
from tests.trainer.test_fused_exact import plan_for, with_a_string

Array = NDArray[Any]


def plan_of(qubits: int, **options: Any) -> Plan:
    return plan_for(with_a_string(qubits, times=1), **options)


@pytest.mark.parametrize(
    ("inputs", "weights", "upstream", "complaint"),
    [
        ((4,), (21,), None, r"inputs are \(4,\)"),
        ((3, 5), (21,), None, r"inputs are \(3, 5\)"),
        ((3, 4), (20,), None, r"weights \(20,\)"),
        ((3, 4), (21,), (2, 3), r"upstream is \(2, 3\)"),
        ((3, 4), (21,), (3,), r"upstream is \(3,\)"),
    ],
)
def test_arrays_of_other_shapes_never_reach_the_library(
    inputs: tuple[int, ...], weights: tuple[int, ...], upstream: tuple[int, ...] | None, complaint: str
) -> None:
    engine, arrays = Engine(plan_of(4)), [np.zeros(inputs), np.zeros(weights)]
    ask = engine.values if upstream is None else partial(engine.gradients, upstream=np.zeros(upstream))

    with pytest.raises(ValueError, match=complaint):
        ask(*arrays)


@pytest.mark.parametrize("before", ["fewer examples", "other inputs", "other weights", "a gradient"])
def test_what_was_computed_before_is_no_help_to_a_gradient_of_something_else(before: str) -> None:
    engine, inputs, weights = Engine(plan_of(4)), np.linspace(-1, 1, 80).reshape(20, 4), np.full(21, 0.3)
    upstream = np.ones((20, 3))
    engine.values(inputs, weights)
    expected = engine.gradients(inputs, weights, upstream)
    if before != "a gradient":
        rows = inputs[:3] if before == "fewer examples" else inputs + (before == "other inputs")
        engine.values(inputs, weights)
        engine.values(rows, weights + (before == "other weights"))

    for one, other in zip(engine.gradients(inputs, weights, upstream), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_more_threads_than_there_may_be_are_as_many_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")

    assert Engine(plan_of(4), threads=default_threads()).values(np.zeros((1, 4)), np.zeros(21)).shape == (1, 3)


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where other tests have imported it
def test_a_forked_child_has_threads_of_its_own() -> None:
    engine, inputs, weights = Engine(plan_of(6), threads=2), np.ones((40, 6)), np.full(21, 0.3)
    here = engine.values(inputs, weights)

    with get_context("fork").Pool(1) as children:
        there = children.apply_async(values_of_a_child, (inputs, weights)).get(timeout=60)

    np.testing.assert_array_equal(here, there)


def values_of_a_child(inputs: Array, weights: Array) -> Array:
    return Engine(plan_of(6), threads=2).values(inputs, weights)


def test_several_threads_of_python_take_turns() -> None:
    engines = [Engine(plan_of(6), threads=2), Engine(plan_of(7), threads=3)]
    sizes, weights = (6, 7), np.full(21, 0.3)

    def gradients(number: int) -> tuple[Array, Array]:
        which = number % 2
        inputs = np.full((20 + number % 5, sizes[which]), 0.01 * number)
        values = engines[which].values(inputs, weights)
        return engines[which].gradients(inputs, weights, values)

    expected = [gradients(number) for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(gradients, range(40)))

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_memory_that_is_not_there_is_an_error(trainer: Trainer) -> None:
    trainer.call(f"{__name__}.out_of_memory")


def out_of_memory() -> None:
    """Asks for a batch that does not fit, in a process that may not grow; then for one that does."""
    line, angle = cirq.LineQubit.range(18), sympy.Symbol("a")
    circuit = cirq.Circuit(cirq.X(qubit) ** angle for qubit in line)
    asked = specified(circuit, cirq.Z(line[0]) * 1.0, weights=[angle])
    plan = fused_circuit(asked).plan(Tuning(lanes(), examples_in_lanes=False))
    engine = Engine(plan, keep_bytes=1 << 40)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
    with pytest.raises(MemoryError):
        engine.values(np.zeros((1000, 0)), np.array([0.5]))
    values = engine.values(np.zeros((2, 0)), np.array([1.0]))
    np.testing.assert_allclose(values, [[-1], [-1]], atol=1e-5)


def test_a_missing_library_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"python -m qtj_simulator\.fused\.build"):
        library(tmp_path / "libqtj_fused.so")


def test_without_a_compiler_nothing_is_built(tmp_path: Path) -> None:
    script = REPOSITORY / "trainer/qtj_simulator/fused/build.py"
    ended = subprocess.run(
        [sys.executable, str(script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr == "error: the fused engine was not built: no C compiler: install gcc or set CC\n"


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """The tests above and a few exact ones, with every access and every shift watched."""
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    build(tmp_path / "libqtj_fused.so", flags)
    build_face(tmp_path / "libqtj_op.so", flags)
    build_face(tmp_path / "libqtj_xla.so", flags)
    # The C++ runtime as well: the sanitizer looks for its exceptions before TensorFlow and others load it.
    named = [f"-print-file-name={name}" for name in ("libasan.so", "libstdc++.so.6")]
    runtimes = [
        subprocess.run(["gcc", name], capture_output=True, text=True, check=True).stdout.strip() for name in named
    ]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",
        "QTJ_FUSED_LIBRARY": str(tmp_path / "libqtj_fused.so"),
    }
    chosen = "program or bytes or byte or constants or size or layers or many_qubits_in_tiles or lanes or anywhere"
    later = "instruction_sets or crashes or slopes or wait or derivative or certain or do_the_same or test_xla"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", f"({chosen} or {later}) and not sanitizers and not its_size",
         "tests/trainer/test_fused_damaged.py", "tests/trainer/test_fused_exact.py",
         "tests/trainer/test_fused_parity.py", "tests/trainer/test_double_precision.py",
         "tests/trainer/test_noise_native.py", "tests/trainer/test_noise_forms.py",
         "tests/trainer/test_noise_shared.py", "tests/trainer/test_second_derivatives.py", "tests/trainer/test_xla.py"],
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
