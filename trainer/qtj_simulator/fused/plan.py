"""The plan of a circuit: what is fused, measured and tiled, and in which order.

Each stage takes the results of earlier stages, and does not change them. For all processors and batches together:

    read, constant_beginning   the readouts as terms; the circuit as gates, those before any symbol apart
    fuse                       the gates as blocks on two qubits each
    causal_cone                without the blocks that affect no readout
    move_gates                 with gates on one qubit moved, so that more blocks cost half
    observe                    the terms as pairs of qubits that are measured, and as strings

For each shape of the state in memory:

    block_nodes, by_layers     what the sweep back must know about each block; an order by layers
    schedule                   the passes over the state
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cirq

from qtj_simulator.fused.blocks import Block, causal_cone, constant_beginning, fuse
from qtj_simulator.fused.nodes import BlockNode, Node, block_nodes, by_layers
from qtj_simulator.fused.observables import Observables, Pair, observe, read
from qtj_simulator.fused.parity import move_gates
from qtj_simulator.fused.schedule import Pass, schedule
from qtj_simulator.fused.shape import FEWEST_QUBITS, Shape, Tuning, shape_for
from qtj_simulator.specification import Specification

__all__ = ["FusedCircuit", "Plan", "fused_circuit", "make_plan", "state_circuit"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done for one circuit.

    Attributes:
        shape: How the state is arranged in memory.
        beginning: Blocks without symbols that make the initial state, once.
        blocks: Blocks that every sweep applies.
        observables: How the readouts are taken from the state after them.
        once: The passes for the beginning.
        passes: The passes of every sweep: one at least.
        inputs: Names of the symbols that differ between examples.
        weights: Names of the symbols that all examples share.
        dropped: The number of blocks that affect no readout.
    """

    shape: Shape
    beginning: tuple[BlockNode, ...]
    blocks: tuple[BlockNode, ...]
    observables: Observables
    once: tuple[Pass[Node], ...]
    passes: tuple[Pass[Node], ...]
    inputs: tuple[str, ...]
    weights: tuple[str, ...]
    dropped: int

    def explain(self) -> str:
        """Describes the plan in sentences."""
        return "\n".join(_explained(self))


@dataclass(frozen=True, slots=True)
class FusedCircuit:
    """A circuit as blocks, from which the plans for all processors and batches are made.

    Attributes:
        qubits: Qubits of the state.
        beginning: Blocks before any symbol.
        blocks: The other blocks that affect a readout.
        observables: How the readouts are taken from the state after them.
        inputs: Names of the symbols that differ between examples.
        weights: Names of the symbols that all examples share.
        dropped: The number of blocks that affect no readout.
    """

    qubits: int
    beginning: tuple[Block, ...]
    blocks: tuple[Block, ...]
    observables: Observables
    inputs: tuple[str, ...]
    weights: tuple[str, ...]
    dropped: int

    def plan(self, tuning: Tuning) -> Plan:
        """Plans the circuit for a processor and a batch.

        Raises:
            ValueError: If it has too many qubits.
        """
        return self.in_shape(shape_for(self.qubits, tuning))

    def in_shape(self, shape: Shape) -> Plan:
        """Plans the circuit for a state that lies in memory like this."""
        beginning = [BlockNode(block) for block in self.beginning]
        applied = self.observables.applied(self.blocks)
        nodes = block_nodes(applied, frozenset(self.inputs), keep_layers=shape.is_whole)
        work: list[Node] = [*nodes, *self.observables.pairs]
        once, passes = schedule(beginning, by_layers(work) if shape.is_whole else work, shape)
        return Plan(
            shape, tuple(beginning), tuple(nodes), self.observables, tuple(once), tuple(passes), self.inputs,
            self.weights, self.dropped,
        )  # fmt: skip

    def plans(self, lanes: int) -> list[Plan]:
        """Plans the circuit for many and for few examples; `lanes` as in `Tuning`."""
        plans = [self.plan(Tuning(lanes, batch=batch)) for batch in (None, 1)]
        return list({plan.shape: plan for plan in plans}.values())


def fused_circuit(asked: Specification) -> FusedCircuit:
    """Reads a circuit and its readouts, which takes most of the time of planning, and fuses its gates.

    Args:
        asked: The circuit, its readouts and symbols.

    Returns:
        Its blocks and observables.

    Raises:
        UnsupportedError: If the engine does not support the circuit.
        ValueError: If a readout is not Hermitian.
    """
    number = _numbers(asked)
    qubits = max(len(number), FEWEST_QUBITS)
    inputs, weights = (tuple(map(str, symbols)) for symbols in (asked.inputs, asked.weights))

    readouts = read(asked.readouts, number)
    first_gates, gates = constant_beginning(asked.circuit, number)
    fused = fuse(gates, qubits)
    relevant = causal_cone(readouts.qubits, fused)
    blocks = move_gates(relevant, frozenset(inputs))
    return FusedCircuit(
        qubits, tuple(fuse(first_gates, qubits)), tuple(blocks),
        observe(blocks, readouts, qubits, frozenset(inputs)), inputs, weights, dropped=len(fused) - len(relevant),
    )  # fmt: skip


def state_circuit(asked: Specification, qubits: Sequence[cirq.Qid]) -> FusedCircuit:
    """Reads a circuit whose state is wanted, and fuses its gates: all of them are applied.

    Args:
        asked: The circuit and its symbols. Its readouts are not used.
        qubits: All its qubits and maybe others, which get the numbers of their places.

    Returns:
        Its blocks, and one readout, which is 0.

    Raises:
        UnsupportedError: If the engine does not support the circuit.
    """
    number = {qubit: index for index, qubit in enumerate(qubits)}
    size = max(len(number), FEWEST_QUBITS)
    inputs, weights = (tuple(map(str, symbols)) for symbols in (asked.inputs, asked.weights))
    first_gates, gates = constant_beginning(asked.circuit, number)
    blocks = move_gates(fuse(gates, size), frozenset(inputs))
    nothing = Observables((0.0,), (), ())
    return FusedCircuit(size, tuple(fuse(first_gates, size)), tuple(blocks), nothing, inputs, weights, dropped=0)


def make_plan(asked: Specification, tuning: Tuning) -> Plan:
    """Plans a circuit for one processor and batch.

    Args:
        asked: The circuit, its readouts and symbols.
        tuning: The processor and the batch the plan is for.

    Returns:
        The plan.

    Raises:
        UnsupportedError: If the engine does not support the circuit.
        ValueError: If it has too many qubits, or a readout is not Hermitian.
    """
    return fused_circuit(asked).plan(tuning)


def _numbers(asked: Specification) -> dict[cirq.Qid, int]:
    """Numbers the qubits of a circuit and its readouts."""
    known = {qubit for readout in asked.readouts for qubit in readout.qubits} | asked.circuit.all_qubits()
    return {qubit: index for index, qubit in enumerate(sorted(known))}


def _explained(plan: Plan) -> Iterator[str]:
    shape, observables = plan.shape, plan.observables
    lanes = f"{shape.lane_bits} qubits in the lanes" if shape.lane_bits else "examples in the lanes"
    gates = sum(len(block.gates) for block in (*(node.block for node in plan.blocks), *observables.looked_through))
    yield f"{shape.qubits} qubits, {lanes}, tiles of {shape.tile_qubits} qubits"
    beginning = f"{_count(len(plan.beginning), 'constant block')}, computed once" if plan.beginning else "|0...0>"
    yield f"initial state: {beginning}"
    yield f"{gates} gates fused into {_count(len(plan.blocks), 'block')}" + (
        f"; {plan.dropped} dropped, because they affect no readout" if plan.dropped else ""
    )
    if even := sum(node.is_even for node in plan.blocks):
        yield f"blocks that preserve parity, and so cost half: {even}"
    pairs, through = _count(len(observables.pairs), "pair"), len(observables.looked_through)
    yield f"{pairs} measured, {through} of them through a last block that is never applied"
    if observables.strings:
        yield f"{_count(len(observables.strings), 'Pauli string')} on more than two qubits, from the whole state"
    if layers := Counter(node.layer for node in plan.blocks if node.layer is not None):
        count, turns = _count(layers.total(), "block"), _count(len(layers), "layer")
        yield f"{count} in {turns} taken back from lambda alone, with the state before each layer kept"
    every = [*((each, " (once)") for each in plan.once), *((each, "") for each in plan.passes)]
    for number, (each, once) in enumerate(every, start=1):
        yield f"pass {number}: {_work(each)}{once}"


def _work(each: Pass[Node]) -> str:
    kinds = Counter("pair" if isinstance(node, Pair) else "block" for node in each.nodes)
    tile = sorted({*each.layout.lanes, *each.tile_qubits})
    work = ", ".join(_count(kinds[name], name) for name in ("block", "pair") if kinds[name]) or "nothing"
    lanes = f"; in lanes {list(each.layout.lanes)}" if each.layout.lanes else ""
    swaps = f", then {_count(len(each.swaps), 'lane swap')}" if each.swaps else ""
    return f"{work} on qubits {_ranges(tile)}{lanes}{swaps}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
