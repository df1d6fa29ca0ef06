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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cirq

from qtj_simulator.fused.blocks import Block, causal_cone, constant_beginning, fuse
from qtj_simulator.fused.observables import Observables, Pair, observe, read
from qtj_simulator.fused.parity import move_gates, preserves_parity
from qtj_simulator.fused.schedule import Pass, schedule
from qtj_simulator.fused.shape import FEWEST_QUBITS, Shape, Tuning, shape_for
from qtj_simulator.specification import Specification

__all__ = [
    "BlockNode",
    "FusedCircuit",
    "Node",
    "Plan",
    "block_nodes",
    "by_layers",
    "fused_circuit",
    "state_circuit",
]

_WORTH_KEEPING = 2
"""From this number of blocks in a layer on, keeping the state before them costs less than undoing them."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockNode:
    """A block that is applied. Nodes are compared by identity.

    Each node is in the first layer after those of the nodes before it on its qubits:

        layer 0   A on qubits 0, 1   B on qubits 2, 3   C on qubits 4, 5   first on both: need not be taken back
        layer 1           D on qubits 1, 2   E on qubits 3, 4              taken back from lambda alone, if the state
                                                                           before both of them is kept

    Attributes:
        block: The block.
        is_first: Whether no other block acts on either qubit before, so that it does not have to be undone.
        is_even: Whether it preserves parity, and so costs half.
        layer: The layer it is taken back with from lambda alone, since the state before the layer is kept; None if it
            is taken back from psi and lambda.
    """

    block: Block
    is_first: bool = False
    is_even: bool = False
    layer: int | None = None

    @property
    def qubits(self) -> tuple[int, int]:
        """The two qubits it acts on."""
        return self.block.qubits

    @property
    def is_constant(self) -> bool:
        """Whether no symbol appears in it, so that it has no gradient."""
        return self.block.is_constant


Node: TypeAlias = BlockNode | Pair


def block_nodes(blocks: Sequence[Block], inputs: frozenset[str], *, keep_layers: bool) -> list[BlockNode]:
    """Returns nodes with what the sweep back must know about each block.

    Args:
        blocks: The blocks that every sweep applies, in order.
        inputs: The names of the symbols that differ between examples.
        keep_layers: Whether the state before blocks that act side by side may be kept.

    Returns:
        A node for each block, in the same order.
    """
    depths = _depths(blocks)
    wide = {depth for depth, many in Counter(depths).items() if depth and many >= _WORTH_KEEPING and keep_layers}
    return [
        BlockNode(
            block,
            is_first=depth == 0,
            is_even=preserves_parity(block, inputs),
            layer=depth if depth in wide else None,
        )
        for block, depth in zip(blocks, depths, strict=True)
    ]


def by_layers(nodes: Sequence[Node]) -> list[Node]:
    """Orders nodes by layers. In each layer, blocks that are undone are last, so that they follow each other."""

    def is_taken_back(node: Node) -> bool:
        return isinstance(node, BlockNode) and not node.is_first

    depths = dict(zip(nodes, _depths(nodes), strict=True))
    return sorted(nodes, key=lambda node: (depths[node], is_taken_back(node)))


def _depths(nodes: Iterable[Block | Node]) -> list[int]:
    """Finds the layer of each node."""
    reached: dict[int, int] = {}
    depths = []
    for node in nodes:
        depth = max(reached.get(qubit, 0) for qubit in node.qubits)
        reached |= dict.fromkeys(node.qubits, depth + 1)
        depths.append(depth)
    return depths


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
    known = {qubit for readout in asked.readouts for qubit in readout.qubits} | asked.circuit.all_qubits()
    return _fused(asked, sorted(known), is_state=False)


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
    return _fused(asked, qubits, is_state=True)


def _fused(asked: Specification, order: Sequence[cirq.Qid], *, is_state: bool) -> FusedCircuit:
    number = {qubit: index for index, qubit in enumerate(order)}
    qubits = max(len(number), FEWEST_QUBITS)
    inputs, weights = (tuple(map(str, symbols)) for symbols in (asked.inputs, asked.weights))

    readouts = read(asked.readouts, number)
    first_gates, gates = constant_beginning(asked.circuit, number)
    fused = fuse(gates, qubits)
    relevant = fused if is_state else causal_cone(readouts.qubits, fused)
    blocks = move_gates(relevant, frozenset(inputs))
    observables = Observables((0.0,), (), ()) if is_state else observe(blocks, readouts, qubits, frozenset(inputs))
    return FusedCircuit(
        qubits, tuple(fuse(first_gates, qubits)), tuple(blocks), observables, inputs, weights,
        dropped=len(fused) - len(relevant),
    )  # fmt: skip


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
