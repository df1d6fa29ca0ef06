"""What is planned for a circuit: fused, left out, and in which order."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import cirq
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from qtj_simulator.fused.blocks import Block
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import BlockNode, Node, Plan, fused_circuit
from qtj_simulator.fused.program import compile_plans
from qtj_simulator.fused.reading import elementary
from qtj_simulator.fused.schedule import schedule
from qtj_simulator.fused.shape import Shape, Tuning
from qtj_simulator.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit

LINE = cirq.LineQubit.range(8)
ANGLE = sympy.Symbol("a")


def plan_of(circuit: cirq.Circuit, *readouts: cirq.PauliString) -> Plan:
    return fused_circuit(specified(circuit, readouts, weights=[ANGLE])).plan(Tuning(16))


def hybrid_plan(qubits: int, *, times: int = 1, **options: Any) -> Plan:
    hybrid = hybrid_circuit(qubits)
    asked = specified(hybrid.circuit * times, hybrid.readouts, hybrid.inputs, hybrid.weights)
    return fused_circuit(asked).plan(Tuning(16, **options))


def test_the_qcnn_in_plain_words() -> None:
    assert hybrid_plan(8).explain().splitlines() == [
        "8 qubits, examples in the lanes, tiles of 8 qubits",
        "initial state: 8 constant blocks, computed once",
        "168 gates fused into 8 blocks",
        "blocks that preserve parity, and so cost half: 4",
        "4 pairs measured, 4 of them through a last block that is never applied",
        "4 blocks in 1 layer taken back from lambda alone, with the state before each layer kept",
        "pass 1: 8 blocks on qubits 0-7 (once)",
        "pass 2: 8 blocks, 4 pairs on qubits 0-7",
    ]


def test_a_circuit_without_a_constant_beginning_in_plain_words() -> None:
    first, second = cirq.LineQubit.range(2)
    circuit = cirq.Circuit(cirq.X(first) ** sympy.Symbol("a"), cirq.CNOT(first, second))

    assert plan_of(circuit, cirq.PauliString(cirq.Z(second))).explain().splitlines() == [
        "2 qubits, examples in the lanes, tiles of 2 qubits",
        "initial state: |0...0>",
        "2 gates fused into 0 blocks",
        "1 pair measured, 1 of them through a last block that is never applied",
        "pass 1: 1 pair on qubits 0-1",
    ]


def layers_of(plan: Plan) -> list[list[BlockNode]]:
    """The blocks that are taken back together, layer by layer."""
    layers = sorted({node.layer for node in plan.blocks if node.layer is not None})
    return [[node for node in plan.blocks if node.layer == layer] for layer in layers]


@pytest.mark.parametrize("times", [1, 2])
def test_blocks_that_are_taken_back_together_act_side_by_side_and_last_in_their_layer(times: int) -> None:
    plan = hybrid_plan(9, times=times)
    (work,) = plan.passes
    in_circuit: list[Node] = [*plan.blocks, *plan.observables.pairs]
    together = layers_of(plan)

    assert len(together) >= times
    for layer in together:
        qubits = [qubit for node in layer for qubit in node.qubits]
        assert len(set(qubits)) == len(qubits)
        start = work.nodes.index(layer[0])
        assert list(work.nodes[start : start + len(layer)]) == layer
        before = {qubit for node in work.nodes[:start] for qubit in node.qubits}
        assert all(before.intersection(node.qubits) for node in layer)
    for qubit in range(9):
        on_it, first = ([node for node in nodes if qubit in node.qubits] for nodes in (work.nodes, in_circuit))
        assert on_it == first


def test_a_state_in_tiles_is_taken_back_block_by_block() -> None:
    assert layers_of(hybrid_plan(8, tile_bits=3, examples_in_lanes=False)) == []


def test_blocks_that_look_alike_share_their_sums() -> None:
    kinds = [int(compile_plans([hybrid_plan(qubits)]).integers[0][7]) for qubits in (8, 12)]

    assert kinds == [8, 8]


def test_gates_that_no_readout_can_notice_are_dropped() -> None:
    circuit = cirq.Circuit((cirq.ZZ**ANGLE)(*LINE[0:2]), (cirq.X**ANGLE)(LINE[2]), (cirq.ZZ**ANGLE)(*LINE[2:4]))

    plan = plan_of(circuit, cirq.PauliString(cirq.Z(LINE[0])))

    assert plan.dropped == 1
    assert [pair.qubits for pair in plan.observables.pairs] == [(0, 1)]


def test_a_readout_that_reaches_out_of_a_block_is_taken_after_it() -> None:
    circuit = cirq.Circuit((cirq.ZZ**ANGLE)(*LINE[0:2]), (cirq.ZZ**ANGLE)(*LINE[2:4]))

    plan = plan_of(circuit, cirq.Z(LINE[1]) * cirq.Z(LINE[2]))

    assert [(pair.qubits, pair.block) for pair in plan.observables.pairs] == [((1, 2), None)]
    assert len(plan.blocks) == 2


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda edge: edge[0] != edge[1]), max_size=30)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(beginning=edges, nodes=edges, lane_bits=st.sampled_from([0, 2, 3, 4]), tile_bits=st.sampled_from([2, 3, 6, 10]))
def test_each_node_is_done_once_in_order_and_inside_its_tile(
    beginning: list[tuple[int, int]], nodes: list[tuple[int, int]], lane_bits: int, tile_bits: int
) -> None:
    shape = Shape(lane_bits, 10 - lane_bits, min(tile_bits, 10 - lane_bits))
    first, others = ([Block(edge) for edge in each] for each in (beginning, nodes))

    once, rest = schedule(first, others, shape)

    for passes, blocks in ((once, first), (rest, others)):
        done = [node for each in passes for node in each.nodes]
        assert Counter(done) == Counter(blocks)
        for qubit in range(10):
            on_it, in_order = ([block for block in each if qubit in block.qubits] for each in (done, blocks))
            assert on_it == in_order
    passes = [*once, *rest]
    for each, following in zip(passes, [*passes[1:], None], strict=True):
        assert sorted((*each.layout.lanes, *each.layout.vector)) == list(range(10))
        tile = {*each.layout.lanes, *each.tile_qubits}
        assert len(tile) == shape.tile_qubits
        assert all(tile.issuperset(node.qubits) for node in each.nodes)
        layout = each.layout
        for lane, bit in each.swaps:
            assert bit in each.tile
            layout = layout.swapped(lane, bit)
        assert layout == following.layout if following else not each.swaps


class _Stubborn(cirq.Gate):  # type: ignore[misc]  # Cirq is not followed
    """Fails where Cirq's own decompositions do, when a matrix has lost precision."""

    def _num_qubits_(self) -> int:
        return 3

    def _decompose_(self, qubits: Sequence[cirq.Qid]) -> Any:
        raise ValueError("Coefficient is not unitary")

    def __str__(self) -> str:
        return "line\nline"


def test_a_gate_that_fails_to_decompose_is_beyond_the_engine() -> None:
    with pytest.raises(UnsupportedError, match=r"^a _Stubborn on .* does not decompose into gates"):
        list(elementary(_Stubborn()(*cirq.LineQubit.range(3))))


def test_a_matrix_on_three_qubits_decomposes_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    matrix = cirq.testing.random_unitary(8, random_state=1)

    gates = list(elementary(cirq.MatrixGate(matrix)(*cirq.LineQubit.range(3))))

    assert max(len(gate.qubits) for gate in gates) == 2
    assert not recwarn.list
