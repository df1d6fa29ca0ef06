"""Gates change hands between blocks, so that some preserve parity: what the circuit does stays the same."""

from itertools import pairwise

import cirq
import numpy as np
import pytest
import sympy
from hypothesis import given
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block, constant_beginning, fuse
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.parity import move_gates, preserves_parity
from qtj_simulator.fused.program import compile_plans
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import HARD, check
from tests.trainer.fuzz import times
from tests.trainer.test_fused_exact import VARIANTS, plan_for
from tests.trainer.test_fused_plan import hybrid_plan

LINE = cirq.LineQubit.range(6)
A, B, X = sympy.symbols("a b x")

Matrix = NDArray[np.complex128]


def blocks_of(circuit: cirq.AbstractCircuit, qubits: int) -> list[Block]:
    number = {qubit: index for index, qubit in enumerate(sorted(circuit.all_qubits()))}
    beginning, rest = constant_beginning(circuit, number)
    return fuse([*beginning, *rest], qubits)


def applied(blocks: list[Block], qubits: int) -> Matrix:
    """The state after them, at some value of every symbol."""
    state = np.zeros((2,) * qubits, complex)
    state.flat[3 % state.size] = 1
    for block in blocks:
        for gate, places in block.gates:
            matrix = gate.matrix({name: 0.1 + len(name) % 3 for name in gate.symbols})
            state = times(matrix, state, [block.qubits[place] for place in places])
    return state


@HARD
@given(case=cases(at_most=6))
def test_any_circuit_does_what_it_did(case: Case) -> None:
    qubits = max(len(case.circuit.all_qubits()), 2)
    blocks = blocks_of(case.circuit, qubits)
    before = applied(blocks, qubits)
    pairs = [block.qubits for block in blocks]

    after = move_gates(blocks, frozenset(map(str, case.inputs)))

    assert [block.qubits for block in after] == pairs
    np.testing.assert_allclose(applied(after, qubits), before, atol=1e-12)


def test_of_a_convolution_the_blocks_between_data_and_readouts_cost_half() -> None:
    hybrid = hybrid_circuit(8)

    blocks = move_gates(blocks_of(hybrid.circuit, 8), frozenset(map(str, hybrid.inputs)))

    even = [block.qubits for block in blocks if preserves_parity(block, frozenset()) and not block.is_constant]
    assert even == [(1, 2), (3, 4), (5, 6), (7, 0)]


@pytest.mark.parametrize("gate", [cirq.CNOT**B, cirq.CX, cirq.ControlledGate(cirq.ry(B)), cirq.ISWAP, cirq.CZ**A])
def test_a_gate_with_axes_of_its_own_is_turned(gate: cirq.Gate) -> None:
    circuit = cirq.Circuit((cirq.Y**A)(LINE[0]), cirq.CZ(*LINE[:2]), cirq.CZ(*LINE[2:4]), cirq.X(LINE[2]) ** B)
    circuit += [(cirq.Y**A)(LINE[1]), gate(LINE[1], LINE[2]), cirq.CZ(*LINE[:2]), cirq.CZ(*LINE[2:4])]
    blocks = blocks_of(circuit, 4)

    after = move_gates(blocks, frozenset())

    assert preserves_parity(next(block for block in after if block.qubits == (1, 2)), frozenset())
    np.testing.assert_allclose(applied(after, 4), applied(blocks, 4), atol=1e-12)


def test_nothing_is_put_in_front_of_data() -> None:
    circuit = cirq.Circuit(cirq.Y(LINE[2]) ** A, cirq.CZ(*LINE[2:4]), cirq.Y(LINE[0]) ** A, cirq.CZ(*LINE[:2]))
    circuit += [cirq.CNOT(LINE[2], LINE[0]), cirq.rx(X)(LINE[0]), cirq.CZ(*LINE[:2]), cirq.CZ(*LINE[2:4])]
    blocks = blocks_of(circuit, 4)

    handed = [move_gates(blocks, inputs) for inputs in (frozenset({"x"}), frozenset[str]())]

    between = [next(block for block in each if block.qubits == (2, 0)) for each in handed]
    assert [preserves_parity(block, frozenset()) for block in between] == [False, True]


def test_what_preserves_parity_has_exact_zeros_in_its_program() -> None:
    """The native engine looks for them, and what it does not find costs twice as much."""
    plan = hybrid_plan(8, times=3)
    program = compile_plans([plan])
    constants, integers = program.constants, program.integers[0].tolist()
    angles, (gates, kinds, heads), at = sum(integers[4:6]), integers[6:9], 18
    for _ in range(angles):
        at += 2 + 2 * integers[at + 1]
    gate = np.reshape(integers[at : at + 3 * gates], (gates, 3))
    at += 3 * gates
    kind = []
    for _ in range(kinds):
        kind.append(integers[at + 1 : at + 1 + integers[at]])
        at += 1 + integers[at]
    for _ in range(heads):
        at += 2 + integers[at + 1]
    blocks = np.reshape(integers[at : at + 2 * (len(plan.beginning) + len(plan.blocks))], (-1, 2))

    even = [place for place, node in enumerate((*plan.beginning, *plan.blocks)) if node.is_even]
    assert len(even) >= 8
    for node in even:
        assert blocks[node, 1] == -1
        for components, _, place in gate[kind[blocks[node, 0]]]:
            matrices = constants[place : place + 33 * components].reshape(components, 33)[:, 1:].reshape(-1, 4, 4)
            assert not matrices[:, [0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2]].any()


def even_pairs(qubits: int) -> Case:
    """Blocks on all pairs of qubits that preserve parity, a readout on each, between turns of every qubit."""
    line = cirq.LineQubit.range(qubits)
    turns, weights = list(sympy.symbols(f"turn0:{qubits}")), list(sympy.symbols("w0:4"))
    circuit = cirq.Circuit(cirq.ry(turn)(qubit) for turn, qubit in zip(turns, line, strict=True))
    circuit += [cirq.CNOT(*pair) for pair in pairwise(line)]  # which take the data into blocks of their own
    for first in line:
        for second in line[line.index(first) + 1 :]:
            circuit += [cirq.XX(first, second) ** weights[0], cirq.Z(second) ** weights[1]]
            circuit += [cirq.ISWAP(second, first) ** weights[2], cirq.ZZ(first, second) ** weights[3]]
    readouts = [cirq.X(first) * cirq.Y(second) for first, second in pairwise(line)]
    return Case(circuit, readouts, turns, weights)


@pytest.mark.parametrize(
    ("examples_in_lanes", "tile_bits"), [(False, 2), (False, None), (True, None)], ids=["tiles", "whole", "examples"]
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_their_qubits_may_be_anywhere(variant: str, *, examples_in_lanes: bool, tile_bits: int | None) -> None:
    case = even_pairs(9)
    plan = plan_for(case, variant, examples_in_lanes=examples_in_lanes, tile_bits=tile_bits)
    assert sum(node.is_even for node in plan.blocks) >= 28

    check(case, Engine(plan, variant=variant), 1, seed=9)
