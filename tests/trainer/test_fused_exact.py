"""The fused engine agrees with Cirq in double precision, whatever the circuit and however the work is divided."""

from functools import cache
from itertools import combinations
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import Plan, fused_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_trainer import circuits
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import HARD, SINGLE, check, results


def runnable(name: str) -> bool:
    try:
        return lanes(name) > 0
    except ValueError:
        return False


VARIANTS = [name for name in ("avx512", "avx2", "baseline") if runnable(name)]


def plan_for(case: Case, variant: str = "", **planning: Any) -> Plan:
    return fused_circuit(case.specification).plan(Tuning(lanes(variant), **planning))


def engine_of(case: Case, variant: str = "", **options: Any) -> Engine:
    planning = {key: options.pop(key) for key in ("examples_in_lanes", "tile_bits") if key in options}
    return Engine(plan_for(case, variant, **planning), variant=variant, **options)


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
    inputs, weights, upstream = case.numbers(batch)
    engine = engine_of(case, threads=2)

    values = engine.values(inputs, weights)
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    alone = [engine.gradients(inputs[[row]], weights, upstream[[row]]) for row in range(batch)]
    np.testing.assert_allclose(values[[-1]], engine.values(inputs[[-1]], weights), atol=1e-6)
    np.testing.assert_allclose(by_inputs, np.concatenate([one for one, _ in alone]), atol=1e-5)
    np.testing.assert_allclose(by_weights, np.sum([other for _, other in alone], axis=0), atol=1e-5 * batch)


@pytest.mark.parametrize("qubits", [13, 19])
def test_many_qubits_in_tiles_are_what_they_are_without(qubits: int) -> None:
    case = Case(*hybrid_circuit(qubits))

    tiled, plain = (
        results(engine_of(case, **options), case.numbers(2))
        for options in ({"threads": 2}, {"examples_in_lanes": True})
    )

    values = 2 * len(case.readouts)
    np.testing.assert_allclose(tiled[:values], plain[:values], atol=SINGLE)
    np.testing.assert_allclose(tiled[values:], plain[values:], atol=SINGLE * np.abs(plain[values:]).max())


def test_many_qubits_have_the_values_of_cirq() -> None:
    case = Case(*hybrid_circuit(16))
    inputs, weights, _ = case.numbers(1)

    values = engine_of(case, threads=2).values(inputs, weights)

    np.testing.assert_allclose(values, case.values(inputs, weights), atol=SINGLE)


@pytest.mark.parametrize("qubits", [14, 18])
def test_threads_change_nothing_but_rounding(qubits: int) -> None:
    case = Case(*hybrid_circuit(qubits))

    one, two = (results(engine_of(case, threads=threads), case.numbers(5)) for threads in (1, 2))

    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


def test_threads_share_a_state_when_examples_are_few_and_the_batch_when_they_are_many() -> None:
    case = Case(*hybrid_circuit(10))
    tiled: dict[str, Any] = {"examples_in_lanes": False, "tile_bits": 8 - int(np.log2(lanes())), "keep_bytes": 0}
    one, four = (engine_of(case, threads=threads, **tiled) for threads in (1, 4))

    for batch in (1, 6, 2):
        ours, theirs = (results(engine, case.numbers(batch)) for engine in (four, one))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def with_a_string(qubits: int, times: int = 2) -> Case:
    """The circuit of a QCNN, with a Pauli string on three qubits."""
    hybrid, line = hybrid_circuit(qubits), cirq.LineQubit.range(qubits)
    string = cirq.X(line[0]) * cirq.Y(line[qubits // 2]) * cirq.Z(line[-1]) + 0.25
    return Case(hybrid.circuit * times, [*hybrid.readouts, string], hybrid.inputs, hybrid.weights)


@cache
def planned(examples_in_lanes: bool, tile_bits: int | None) -> Plan:
    return plan_for(with_a_string(9), examples_in_lanes=examples_in_lanes, tile_bits=tile_bits)


@pytest.mark.parametrize("keep_bytes", [[1 << 30, 1 << 30], [0, 1 << 30], [1 << 14, 0]])
@pytest.mark.parametrize(
    ("examples_in_lanes", "tile_bits"), [(True, None), (False, None), (False, 3)], ids=["examples", "whole", "tiles"]
)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_threads_give_the_same_bits_whatever_is_kept(
    threads: int, *, examples_in_lanes: bool, tile_bits: int | None, keep_bytes: list[int]
) -> None:
    case = with_a_string(9)
    plan = planned(examples_in_lanes, tile_bits)

    one, other = (results(Engine(plan, threads=threads, keep_bytes=keep), case.numbers(40)) for keep in keep_bytes)

    np.testing.assert_array_equal(one, other)


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
