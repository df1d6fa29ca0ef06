"""The engine on a real card: random circuits against Cirq, and large ones against the engine on the processor.

`make test-gpu` runs it where there is a GPU.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_simulator.fused.cuda.driver import Card
from qtj_simulator.fused.cuda.engine import CudaEngine, plan_for_card
from qtj_simulator.fused.plan import fused_circuit
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import DOUBLE, HARD, check, results
from tests.trainer.test_cuda_kernels import CLOSE, exact
from tests.trainer.test_fused_exact import with_a_string

CARD = Card()


def engine_of(case: Case, bits: int, *, tile_bits: int | None = None, **options: Any) -> CudaEngine:
    plan = plan_for_card(fused_circuit(case.specification), bits=bits, tile_bits=tile_bits)
    return CudaEngine(plan, CARD, bits=bits, **options)


@HARD
@given(case=cases(at_most=10), batch=st.integers(1, 5), tile_bits=st.integers(2, 10), seed=st.integers(0, 99))
def test_any_circuit(case: Case, batch: int, tile_bits: int, seed: int) -> None:
    check(case, engine_of(case, 32, tile_bits=tile_bits), batch, seed)
    check(case, engine_of(case, 64, tile_bits=tile_bits), batch, seed, DOUBLE)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("qubits", "batch"), [(4, 4096), (8, 300), (12, 33), (18, 3), (22, 1)])
def test_it_agrees_with_the_processor(bits: int, qubits: int, batch: int) -> None:
    case = with_a_string(qubits)
    numbers, engine = case.numbers(batch), engine_of(case, bits)

    found = results(engine, numbers)

    expected = results(exact(case), numbers)
    np.testing.assert_allclose(found, expected, atol=CLOSE[bits] * np.abs(expected).max())
    np.testing.assert_array_equal(results(engine, numbers), found)
