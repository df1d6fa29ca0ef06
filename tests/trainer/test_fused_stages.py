"""What each stage of planning promises, on circuits small enough to follow; and that none changes what it is given."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import cirq
import numpy as np
import sympy
from hypothesis import given

from qtj_simulator.fused.blocks import Block, causal_cone, constant_beginning, fuse
from qtj_simulator.fused.observables import Observables, Pair, Term, observe, read
from qtj_simulator.fused.parity import move_gates
from qtj_simulator.fused.plan import block_nodes, by_layers, fused_circuit
from qtj_simulator.fused.program import compile_plans
from qtj_simulator.fused.schedule import schedule
from qtj_simulator.fused.shape import Shape, Tuning
from tests.trainer.circuits import Case, cases
from tests.trainer.compared import HARD

LINE = cirq.LineQubit.range(6)
A, X = sympy.symbols("a x")
NUMBER: dict[cirq.Qid, int] = {qubit: index for index, qubit in enumerate(LINE)}
NONE: frozenset[str] = frozenset()


def fused(*operations: cirq.Operation) -> list[Block]:
    beginning, rest = constant_beginning(cirq.Circuit(operations), NUMBER)
    return fuse([*beginning, *rest], len(LINE))


def names(block: Block) -> list[tuple[int, ...]]:
    """The qubits of a block's gates."""
    return [tuple(block.qubits[position] for position in positions) for _, positions in block.gates]


def zz(first: int, second: int) -> cirq.Operation:
    return (cirq.ZZ**A)(LINE[first], LINE[second])


def test_a_circuit_is_divided_where_a_symbol_reaches() -> None:
    circuit = cirq.Circuit(cirq.H(LINE[0]), cirq.X(LINE[1]) ** A, cirq.CZ(*LINE[1:3]), cirq.H(LINE[2]), cirq.H(LINE[3]))

    beginning, rest = constant_beginning(circuit, NUMBER)

    assert [qubits for _, qubits in beginning] == [(0,), (3,)]
    assert [qubits for _, qubits in rest] == [(1,), (1, 2), (2,)]


def test_readouts_become_terms_with_their_identity_apart() -> None:
    total = 2 * cirq.Z(LINE[0]) + cirq.PauliSum.from_pauli_strings(cirq.X(LINE[1]) * cirq.Y(LINE[2])) - 3

    found = read([cirq.Z(LINE[4]) * 0.5, total], NUMBER)

    assert found.offsets == (0.0, -3.0)
    assert found.terms == (Term(0, 0.5, {4: "Z"}), Term(1, 2.0, {0: "Z"}), Term(1, 1.0, {1: "X", 2: "Y"}))


def test_the_terms_of_a_sum_are_the_same_in_every_process() -> None:
    sums = [cirq.PauliSum.from_pauli_strings(cirq.Z(a) * cirq.X(b)) for a in LINE for b in LINE if a > b]

    assert [list(term.paulis.values()) for term in read(sums, NUMBER).terms] == [["X", "Z"]] * 15


def test_gates_on_the_same_two_qubits_are_one_block_with_those_on_one_qubit_before_it() -> None:
    first, second = fused(cirq.H(LINE[1]), zz(0, 1), cirq.CNOT(LINE[1], LINE[0]), cirq.T(LINE[1]), zz(1, 2))

    assert (first.qubits, names(first)) == ((0, 1), [(1,), (0, 1), (1, 0)])
    assert (second.qubits, names(second)) == ((1, 2), [(1,), (1, 2)])


def test_gates_that_no_block_comes_for_join_the_last_one_or_share_a_new_one() -> None:
    first, second, third = fused(zz(0, 1), *(cirq.H(LINE[qubit]) for qubit in (1, 2, 3, 5)))

    assert (first.qubits, names(first)) == ((0, 1), [(0, 1), (1,)])
    assert (second.qubits, names(second)) == ((2, 3), [(2,), (3,)])
    assert (third.qubits, names(third)) == ((5, 0), [(5,)])


def test_blocks_that_no_readout_notices_are_left_out_and_the_others_keep_their_order() -> None:
    blocks = [Block(edge) for edge in [(0, 1), (3, 4), (1, 2), (0, 1), (2, 3), (4, 5)]]

    assert [block.qubits for block in causal_cone({2}, blocks)] == [(0, 1), (3, 4), (1, 2), (2, 3)]


def test_a_gate_in_the_way_goes_to_the_neighbour_before_unless_that_one_is_cheap_already() -> None:
    blocks = fused(zz(0, 1), zz(2, 3), cirq.Y(LINE[1]) ** A, zz(1, 2), cirq.Y(LINE[2]) ** A, zz(0, 1), zz(2, 3))

    after = move_gates(blocks, NONE)

    assert [names(block) for block in blocks] == [[(0, 1)], [(2, 3)], [(1,), (1, 2)], [(0, 1)], [(2,), (2, 3)]]
    assert [names(block) for block in after] == [[(0, 1), (1,)], [(2, 3)], [(1, 2)], [(0, 1)], [(2,), (2, 3)]]


def observed(blocks: list[Block], *readouts: cirq.PauliString, inputs: frozenset[str] = NONE) -> Observables:
    return observe(blocks, read(readouts, NUMBER), len(LINE), inputs)


def test_the_last_block_of_a_readout_is_looked_through_and_not_applied() -> None:
    first, last = blocks = fused(zz(1, 2), zz(0, 1))

    found = observed(blocks, cirq.Z(LINE[1]) * 1.0)

    assert [(pair.qubits, pair.block) for pair in found.pairs] == [((0, 1), last)]
    assert found.applied(blocks) == [first]


def test_a_last_block_with_data_is_applied_and_looked_at_after_it() -> None:
    blocks = fused((cirq.ZZ**X)(*LINE[:2]))

    found = observed(blocks, cirq.Z(LINE[1]) * 1.0, inputs=frozenset({"x"}))

    assert [(pair.qubits, pair.block) for pair in found.pairs] == [((1, 0), None)]
    assert found.applied(blocks) == blocks


def test_single_qubits_share_a_pair_where_they_can_and_long_strings_have_none() -> None:
    paulis = [cirq.Z(LINE[0]) * 1.0, cirq.Z(LINE[2]) * cirq.Z(LINE[1]), cirq.X(LINE[1]) * 1.0]
    long = cirq.Z(LINE[0]) * cirq.X(LINE[1]) * cirq.Y(LINE[3])

    found = observed(fused(zz(0, 1), zz(1, 2)), *paulis, long)

    assert [pair.qubits for pair in found.pairs] == [(2, 1), (0, 1)]
    assert [[term.readout for term in pair.terms] for pair in found.pairs] == [[1, 2], [0]]
    assert [term.readout for term in found.strings] == [3]


def test_nodes_know_whether_they_are_first_even_and_taken_back_together() -> None:
    blocks = fused(zz(0, 1), zz(2, 3), zz(4, 5), zz(1, 2), cirq.Y(LINE[3]) ** A, zz(3, 4), zz(2, 3))

    nodes = block_nodes(blocks, NONE, keep_layers=True)

    assert [node.block for node in nodes] == blocks
    assert [node.is_first for node in nodes] == [True, True, True, False, False, False]
    assert [node.is_even for node in nodes] == [True, True, True, True, False, True]
    assert [node.layer for node in nodes] == [None, None, None, 1, 1, None]
    assert all(node.layer is None for node in block_nodes(blocks, NONE, keep_layers=False))


def test_in_a_layer_blocks_that_are_taken_back_come_last() -> None:
    blocks = [Block(edge) for edge in [(0, 1), (1, 2), (3, 4), (0, 5)]]
    first, second, third, fourth = block_nodes(blocks, NONE, keep_layers=True)
    early, late = Pair((3, 4), None), Pair((2, 3), None)

    assert by_layers([first, second, third, fourth, early, late]) == [first, third, early, second, fourth, late]


def seen(value: Any) -> Any:
    """What can be read in arguments, in values that compare: a block or a pair equals itself alone."""
    if is_dataclass(value):
        return [seen(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, list | tuple):
        return [seen(each) for each in value]
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, cirq.AbstractCircuit):
        return value.freeze()
    return value.tobytes() if isinstance(value, np.ndarray) else value


@HARD
@given(case=cases(at_most=6))
def test_no_stage_changes_what_it_is_given(case: Case) -> None:
    asked, inputs = case.specification, frozenset(map(str, case.inputs))
    qubits = max(case.qubits, 2)
    number = {qubit: index for index, qubit in enumerate(LINE)}

    def unchanged(stage: Callable[..., Any], *given: Any, **options: Any) -> Any:
        before = seen(given)
        made = stage(*given, **options)
        assert seen(given) == before, stage.__name__
        return made

    readouts = unchanged(read, asked.readouts, number)
    beginning, gates = unchanged(constant_beginning, asked.circuit, number)
    first, blocks = unchanged(fuse, beginning, 6), unchanged(fuse, gates, 6)
    noticed = unchanged(causal_cone, readouts.qubits, blocks)
    handed = unchanged(move_gates, noticed, inputs)
    observables = unchanged(observe, handed, readouts, 6, inputs)
    nodes = unchanged(block_nodes, observables.applied(handed), inputs, keep_layers=True)
    work = unchanged(by_layers, [*nodes, *observables.pairs])
    unchanged(schedule, first, work, Shape(2, 4, 2))
    plan = unchanged(unchanged(fused_circuit, asked).plan, Tuning(4))
    again, twice = compile_plans([plan]), compile_plans([plan])
    assert plan.shape.qubits == qubits
    np.testing.assert_array_equal(again.integers[0], twice.integers[0])
