"""The fused engine agrees with Cirq in double precision, whatever the circuit and however the work is divided."""

from itertools import combinations
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qtj_simulator.fused.cuda.engine import CudaEngine
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import Plan, make_plan
from qtj_simulator.fused.shape import Tuning
from qtj_trainer import circuits
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case, cases

Array = NDArray[Any]

TOLERANCE = 1e-5
"""Of values and gradients, relative to the largest they could reasonably be: single precision leaves 1e-6."""


# To shrink a circuit takes minutes, and a small one tells no more than a large one.
HARD = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


def runnable(name: str) -> bool:
    try:
        return lanes(name) > 0
    except ValueError:
        return False


VARIANTS = [name for name in ("avx512", "avx2", "baseline") if runnable(name)]


def plan_for(case: Case, variant: str = "", **planning: Any) -> Plan:
    return make_plan(case.specification, Tuning(lanes(variant), **planning))


def engine_of(case: Case, variant: str = "", **options: Any) -> Engine:
    planning = {key: options.pop(key) for key in ("examples_in_lanes", "tile_bits") if key in options}
    return Engine(plan_for(case, variant, **planning), variant=variant, **options)


def check(case: Case, engine: Engine | CudaEngine, batch: int, seed: int) -> None:
    """Values, and the gradient along two random directions, for a loss with weights of each example's own."""
    random = np.random.default_rng(seed)
    inputs = random.uniform(-2, 2, (batch, len(case.inputs)))
    weights = random.uniform(-2, 2, len(case.weights))
    expected = case.values(inputs, weights)

    values = engine.values(inputs, weights)
    upstream = 2 * (values - 0.3)  # of a squared error
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    np.testing.assert_allclose(values, expected, atol=TOLERANCE * max(1.0, np.abs(expected).max()))
    size = np.sqrt(np.sum(by_inputs**2) + np.sum(by_weights**2)) + np.abs(upstream).max()
    for _ in range(2):
        along = random.normal(size=inputs.shape), random.normal(size=weights.shape)
        slope = np.sum(by_inputs * along[0]) + np.sum(by_weights * along[1])
        length = np.sqrt(np.sum(along[0] ** 2) + np.sum(along[1] ** 2))
        assert slope == pytest.approx(case.slope(inputs, weights, upstream, along), abs=TOLERANCE * size * length)


@HARD
@given(case=cases(at_most=7), batch=st.integers(1, 5), variant=st.sampled_from(VARIANTS), seed=st.integers(0, 99))
def test_examples_in_the_lanes(case: Case, batch: int, variant: str, seed: int) -> None:
    check(case, engine_of(case, variant, examples_in_lanes=True), batch, seed)


@HARD
@given(
    case=cases(at_most=10), variant=st.sampled_from(VARIANTS), tile_bits=st.integers(2, 6), threads=st.integers(1, 3),
    keep=st.sampled_from([0, 1 << 20]), seed=st.integers(0, 99),
)  # fmt: skip
def test_qubits_in_the_lanes_and_small_tiles(
    case: Case, variant: str, tile_bits: int, threads: int, keep: int, seed: int
) -> None:
    engine = engine_of(case, variant, examples_in_lanes=False, tile_bits=tile_bits, threads=threads, keep_bytes=keep)
    check(case, engine, 2, seed)


def every_pair(qubits: int) -> Case:
    """Blocks on all pairs of qubits, a readout on each, and data on every qubit."""
    line = cirq.LineQubit.range(qubits)
    turns, weights = list(sympy.symbols(f"turn0:{qubits}")), list(sympy.symbols("w0:3"))
    circuit = cirq.Circuit(cirq.rx(turn)(qubit) for turn, qubit in zip(turns, line, strict=True))
    for first, second in combinations(line, 2):
        circuit += [cirq.XX(first, second) ** weights[0], cirq.Y(first) ** weights[1], cirq.CZ(second, first)]
        circuit += cirq.Z(second) ** weights[2]
    readouts = [cirq.X(first) * cirq.Y(second) for first, second in combinations(line, 2)]
    return Case(circuit, readouts, turns, weights)


@pytest.mark.parametrize("tile_bits", [2, None], ids=["tiles", "whole"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_either_qubit_of_a_block_may_be_in_the_lanes_or_both_or_none(variant: str, tile_bits: int | None) -> None:
    case = every_pair(9)
    engine = engine_of(case, variant, examples_in_lanes=False, tile_bits=tile_bits)

    check(case, engine, 1, seed=9)


def deep(qubits: int, layers: int) -> Case:
    """Layers of one convolution and one pooling over all qubits, with angles of their own, read out at the end."""
    line = cirq.LineQubit.range(qubits)
    turns = list(sympy.symbols(f"turn0:{qubits}"))
    weights = list(sympy.symbols(f"w0:{21 * layers}"))
    circuit = cirq.Circuit(
        cirq.H.on_each(*line), [cirq.rx(turn)(qubit) for turn, qubit in zip(turns, line, strict=True)]
    )
    for layer in range(layers):
        mine = weights[21 * layer : 21 * layer + 21]
        circuit += circuits.convolution(line, mine[:15]) + circuits.pooling(line, mine[15:])
    readouts = [cirq.PauliString(cirq.Z(qubit)) for qubit in circuits.pooled(line)]
    return Case(circuit, readouts, turns, weights)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("qubits", [5, 8])
def test_layers(qubits: int, layers: int) -> None:
    case = deep(qubits, layers)

    check(case, engine_of(case), 1, seed=layers)


@pytest.mark.parametrize("batch", [1, 15, 16, 17, 33])
def test_a_batch_is_its_examples_whether_it_fills_the_lanes_or_not(batch: int) -> None:
    case = Case(*hybrid_circuit(5))
    random = np.random.default_rng(batch)
    inputs, weights = random.uniform(-2, 2, (batch, 5)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(batch, len(case.readouts)))
    engine = engine_of(case, threads=2)

    values = engine.values(inputs, weights)
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    alone = [engine.gradients(inputs[[row]], weights, upstream[[row]]) for row in range(batch)]
    np.testing.assert_allclose(values[[-1]], engine.values(inputs[[-1]], weights), atol=1e-6)
    np.testing.assert_allclose(by_inputs, np.concatenate([one for one, _ in alone]), atol=1e-5)
    np.testing.assert_allclose(by_weights, np.sum([other for _, other in alone], axis=0), atol=1e-5 * batch)


@pytest.mark.parametrize("qubits", [13, 16, 18, 19])
def test_many_qubits_in_tiles_are_what_they_are_without(qubits: int) -> None:
    case = Case(*hybrid_circuit(qubits))
    random = np.random.default_rng(qubits)
    inputs, weights = random.uniform(-2, 2, (2, qubits)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(2, len(case.readouts)))

    tiled, plain = engine_of(case, threads=2), engine_of(case, examples_in_lanes=True)

    np.testing.assert_allclose(tiled.values(inputs, weights), plain.values(inputs, weights), atol=TOLERANCE)
    for one, other in zip(
        tiled.gradients(inputs, weights, upstream), plain.gradients(inputs, weights, upstream), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=TOLERANCE * np.abs(other).max())


def test_many_qubits_have_the_values_of_cirq() -> None:
    case = Case(*hybrid_circuit(16))
    random = np.random.default_rng(16)
    inputs, weights = random.uniform(-2, 2, (1, 16)), random.uniform(0, 2, 21)

    values = engine_of(case, threads=2).values(inputs, weights)

    np.testing.assert_allclose(values, case.values(inputs, weights), atol=TOLERANCE)


@pytest.mark.parametrize("qubits", [14, 18])
def test_threads_change_nothing_but_rounding(qubits: int) -> None:
    case = Case(*hybrid_circuit(qubits))
    random = np.random.default_rng(1)
    inputs, weights = random.uniform(-2, 2, (5, qubits)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(5, len(case.readouts)))

    one, two = (engine_of(case, threads=threads).gradients(inputs, weights, upstream) for threads in (1, 2))

    np.testing.assert_allclose(one[1], two[1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(one[0], two[0], rtol=1e-6, atol=1e-7)


def test_threads_share_a_state_when_examples_are_few_and_the_batch_when_they_are_many() -> None:
    case = Case(*hybrid_circuit(10))
    random = np.random.default_rng(1)
    weights = random.uniform(0, 2, 21)
    tiled: dict[str, Any] = {"examples_in_lanes": False, "tile_bits": 8 - int(np.log2(lanes())), "keep_bytes": 0}
    one, four = (engine_of(case, threads=threads, **tiled) for threads in (1, 4))

    for batch in (1, 6, 2):
        inputs, upstream = random.uniform(-2, 2, (batch, 10)), random.normal(size=(batch, len(case.readouts)))
        ours, theirs = (engine.gradients(inputs, weights, upstream) for engine in (four, one))
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("keep_bytes", [[1 << 30, 1 << 30], [0, 1 << 30], [1 << 14, 0]])
@pytest.mark.parametrize(
    ("examples_in_lanes", "tile_bits"), [(True, None), (False, None), (False, 3)], ids=["examples", "whole", "tiles"]
)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_threads_give_the_same_bits_whatever_is_kept(
    threads: int, *, examples_in_lanes: bool, tile_bits: int | None, keep_bytes: list[int]
) -> None:
    hybrid = hybrid_circuit(9)
    line = cirq.LineQubit.range(9)
    readouts = [*hybrid.readouts, cirq.X(line[0]) * cirq.Y(line[4]) * cirq.Z(line[8])]
    case = Case(hybrid.circuit * 2, readouts, hybrid.inputs, hybrid.weights)
    random = np.random.default_rng(1)
    inputs, weights = random.uniform(-2, 2, (40, 9)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(40, len(case.readouts)))
    results = []

    for keep in keep_bytes:
        engine = engine_of(
            case, threads=threads, examples_in_lanes=examples_in_lanes, tile_bits=tile_bits, keep_bytes=keep
        )
        values = engine.values(inputs, weights)
        results.append([values, *engine.gradients(inputs, weights, upstream)])

    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_gradient_of_values_that_others_have_replaced_is_computed_again() -> None:
    case = Case(*hybrid_circuit(6))
    random = np.random.default_rng(2)
    inputs, weights = random.uniform(-2, 2, (3, 6)), random.uniform(0, 2, 21)
    upstream = random.normal(size=(3, len(case.readouts)))
    engine = engine_of(case)
    engine.values(inputs, weights)
    kept = engine.gradients(inputs, weights, upstream)

    engine.values(inputs, weights)
    engine.values(inputs + 1, weights)
    again = engine.gradients(inputs, weights, upstream)
    spent = engine.gradients(inputs, weights, upstream)

    np.testing.assert_array_equal(kept[1], again[1])
    np.testing.assert_array_equal(kept[1], spent[1])


def test_no_examples_have_no_values() -> None:
    case = Case(*hybrid_circuit(4))
    engine = engine_of(case)

    values = engine.values(np.zeros((0, 4)), np.zeros(21))
    by_inputs, by_weights = engine.gradients(np.zeros((0, 4)), np.zeros(21), values)

    assert values.shape == (0, 2)
    assert by_inputs.shape == (0, 4)
    np.testing.assert_array_equal(by_weights, np.zeros(21))


def test_an_unknown_instruction_set_is_named() -> None:
    with pytest.raises(ValueError, match="altivec"):
        lanes("altivec")


@pytest.mark.parametrize("threads", [-1, 257])
def test_a_number_of_threads_out_of_range_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match="number of threads"):
        Engine(plan_for(Case(cirq.Circuit(), [cirq.Z(cirq.LineQubit(0)) * 1.0], [], [])), threads=threads)
