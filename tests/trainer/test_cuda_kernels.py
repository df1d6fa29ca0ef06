"""The kernels for GPUs, emulated with threads as loops, compute what Cirq and the engine on the processor do."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_simulator.fused.cuda.driver import Call
from qtj_simulator.fused.cuda.engine import CudaEngine, plan_for_card
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import fused_circuit
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import DOUBLE, HARD, check, results
from tests.trainer.cuda_stand_in import build_stand_in, stand_in
from tests.trainer.processes import REPOSITORY
from tests.trainer.test_fused_exact import deep, every_pair, with_a_string

BITS = pytest.mark.parametrize("bits", [32, 64])
CLOSE = {32: 1e-5, 64: 1e-11}


def engine_of(case: Case, bits: int, *, tile_bits: int | None = None, **options: Any) -> CudaEngine:
    plan = plan_for_card(fused_circuit(case.specification), bits=bits, tile_bits=tile_bits)
    return CudaEngine(plan, stand_in(bits).card(), bits=bits, **options)


def exact(case: Case) -> Engine:
    return Engine(*fused_circuit(case.specification).plans(lanes("double")), variant="double")


SMALL = {"tile_bits": st.integers(2, 6), "threads": st.sampled_from([1, 3, 32]), "part": st.sampled_from([None, 1, 2])}


@HARD
@given(case=cases(at_most=10), batch=st.integers(1, 5), options=st.fixed_dictionaries(SMALL), seed=st.integers(0, 99))
def test_any_circuit(case: Case, batch: int, options: dict[str, Any], seed: int) -> None:
    check(case, engine_of(case, 32, **options), batch, seed)


@HARD
@given(case=cases(at_most=6), batch=st.integers(1, 3), options=st.fixed_dictionaries(SMALL), seed=st.integers(0, 99))
def test_any_circuit_in_double_precision(case: Case, batch: int, options: dict[str, Any], seed: int) -> None:
    check(case, engine_of(case, 64, **options), batch, seed, DOUBLE)


@BITS
@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("tile_bits", [None, 3])
def test_it_agrees_with_the_processor(bits: int, tile_bits: int | None, batch: int) -> None:
    case = with_a_string(8)
    numbers = case.numbers(batch)

    found = results(engine_of(case, bits, tile_bits=tile_bits), numbers)

    expected = results(exact(case), numbers)
    np.testing.assert_allclose(found, expected, atol=CLOSE[bits] * np.abs(expected).max())


@pytest.mark.parametrize("case", [every_pair(6), deep(5, 3)], ids=["every pair", "deep"])
def test_it_agrees_where_qubits_and_layers_repeat(case: Case) -> None:
    numbers = case.numbers(3)

    found = results(engine_of(case, 64, tile_bits=4, threads=7), numbers)

    np.testing.assert_allclose(found, results(exact(case), numbers), atol=1e-11)


@BITS
@pytest.mark.parametrize("threads", [3, 64])
def test_the_order_of_threads_does_not_matter(bits: int, threads: int) -> None:
    """Where a barrier is missing, or two threads write the same place, another order has other bits."""
    case = with_a_string(7)
    engine, numbers = engine_of(case, bits, tile_bits=4, threads=threads), case.numbers(3)
    found = results(engine, numbers)

    with stand_in(bits).with_setting("backwards", 1):
        np.testing.assert_array_equal(results(engine, numbers), found)


@pytest.mark.parametrize("part", [1, 2, 3, 5])
def test_a_batch_in_parts_is_the_same_batch(part: int) -> None:
    case = with_a_string(5)
    numbers = case.numbers(5)

    found = results(engine_of(case, 64, part=part), numbers)

    np.testing.assert_allclose(found, results(engine_of(case, 64), numbers), atol=1e-12)


@BITS
def test_an_empty_batch(bits: int) -> None:
    case = with_a_string(4)
    inputs, weights, upstream = case.numbers(0)
    engine = engine_of(case, bits)

    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    assert engine.values(inputs, weights).shape == (0, len(case.readouts))
    assert by_inputs.shape == (0, len(case.inputs))
    np.testing.assert_array_equal(by_weights, np.zeros(len(case.weights)))


def test_a_number_that_is_none_stays_in_its_example() -> None:
    case = with_a_string(4)
    inputs, weights, upstream = case.numbers(3)
    inputs[1, 0] = np.nan
    engine = engine_of(case, 32)

    values, (by_inputs, _) = engine.values(inputs, weights), engine.gradients(inputs, weights, upstream)

    assert [bool(np.isfinite(row).all()) for row in values] == [True, False, True]
    assert [bool(np.isfinite(row).all()) for row in by_inputs] == [True, False, True]


def test_arrays_of_other_shapes_are_refused() -> None:
    case = with_a_string(4)
    inputs, weights, upstream = case.numbers(3)
    engine = engine_of(case, 32)

    with pytest.raises(ValueError, match=r"inputs are \(3, 3\) and weights \(21,\), not \(batch, 4\) and \(21,\)"):
        engine.values(inputs[:, 1:], weights)
    with pytest.raises(ValueError, match=r"upstream is \(2, \d+\), not"):
        engine.gradients(inputs, weights, upstream[1:])


@BITS
def test_python_and_the_kernels_agree_on_what_a_call_is(bits: int) -> None:
    assert ctypes.sizeof(Call) == stand_in(bits).number("call_bytes")


@pytest.mark.slow
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """The tests above, with every access to the memory of the card and to shared memory watched."""
    flags = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    for bits in 32, 64:
        build_stand_in(tmp_path, bits, flags)
    named = [f"-print-file-name={name}" for name in ("libasan.so", "libstdc++.so.6")]
    runtimes = [
        subprocess.run(["gcc", name], capture_output=True, text=True, check=True).stdout.strip() for name in named
    ]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(runtimes), "ASAN_OPTIONS": "detect_leaks=0", "QTJ_TEST_STAND_INS": str(tmp_path),
    }  # fmt: skip
    tests = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-k", "not sanitizers", __file__]
    ended = subprocess.run(tests, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
