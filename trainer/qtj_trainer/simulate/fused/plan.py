"""The plan of a circuit: what is fused, looked at and tiled, in which order."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import cirq

from qtj_trainer.simulate.fused.blocks import Block, constant_beginning, fuse, without_effect_on
from qtj_trainer.simulate.fused.observables import Pair, Readouts, Term, pairs_and_strings, read
from qtj_trainer.simulate.fused.parity import hand_over, preserves_parity
from qtj_trainer.simulate.fused.schedule import Edge, Pass, Shape, layers, schedule

__all__ = ["Plan", "make_plan", "shape_for"]

_TILE_BITS = 14
"""A tile of 2^14 vectors of 16 complex numbers takes 2 MiB; two of them stay in the part of L3 that a processor has for
each core. Sweeps read ahead, so L3 is as good as L2, and larger tiles lie in memory in longer runs."""
_EXAMPLES_IN_LANES = 12
"""Up to so many qubits, examples side by side are faster than one after the other."""
_FULL = 0.75
"""The part of the lanes that has to be filled for it: examples side by side take as long as so many one by one."""
_FEWEST = 2
_MOST_VECTOR_BITS = 30
"""As many as the native library takes: it numbers vectors with 32 bits."""
_WORTH_KEEPING = 2
"""Blocks side by side from which on it costs less to keep the state before them than to take them away from it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done for one circuit.

    Nodes are numbered: first `beginning`, then `blocks`, then `pairs`.

    Attributes:
        qubits: How many there are in the state: at least 2.
        shape: How the state lies in memory.
        beginning: Blocks without symbols that make the initial state, once.
        blocks: Blocks that every sweep applies.
        pairs: Where terms on one and two qubits are looked at.
        strings: Terms on more qubits.
        readouts: All readouts.
        passes: The order of work.
        firsts: Blocks that no other block acts before on either qubit.
        even: Blocks that preserve parity.
        together: Blocks side by side that are taken back from lambda alone, since the state before them is kept.
        prefix_passes: How many of the passes are for the beginning.
        inputs: Names of the symbols that differ between examples.
        weights: Names of the symbols that all examples share.
        dropped: Blocks that no readout can notice.
    """

    qubits: int
    shape: Shape
    beginning: list[Block]
    blocks: list[Block]
    pairs: list[Pair]
    strings: list[Term]
    readouts: Readouts
    passes: list[Pass]
    firsts: frozenset[int]
    even: frozenset[int]
    together: list[list[int]]
    prefix_passes: int
    inputs: tuple[str, ...]
    weights: tuple[str, ...]
    dropped: int

    def explain(self) -> str:
        """Says in plain words what is done."""
        return "\n".join(_explained(self))


def shape_for(
    qubits: int,
    lanes: int,
    *,
    batch: int | None = None,
    examples_in_lanes: bool | None = None,
    tile_bits: int | None = None,
) -> Shape:
    """Chooses how a state lies in memory.

    Args:
        qubits: At least 2.
        lanes: Floats in a vector of this processor.
        batch: How many examples there are; None for more than enough.
        examples_in_lanes: True to put examples into the lanes, False to put qubits there; None chooses.
        tile_bits: Index bits of the vectors that stay in the cache together; None chooses.

    Returns:
        The shape.
    """
    lane_bits = lanes.bit_length() - 1
    if examples_in_lanes is None:
        examples_in_lanes = qubits <= _EXAMPLES_IN_LANES and (batch is None or _fill(batch, lanes))
    if examples_in_lanes or qubits < lane_bits + _FEWEST:
        lane_bits = 0
    vector_bits = qubits - lane_bits
    if tile_bits is None:
        tile_bits = _TILE_BITS
    return Shape(lane_bits, vector_bits, min(vector_bits, tile_bits) if lane_bits else vector_bits)


def _fill(batch: int, lanes: int) -> bool:
    """Tells whether examples are done sooner side by side than one by one, whatever the number of threads."""
    return -(-batch // lanes) * lanes * _FULL <= batch


def make_plan(
    circuit: cirq.AbstractCircuit,
    readouts: Sequence[cirq.PauliString | cirq.PauliSum],
    *,
    inputs: Sequence[str],
    weights: Sequence[str],
    lanes: int,
    batch: int | None = None,
    examples_in_lanes: bool | None = None,
    tile_bits: int | None = None,
) -> Plan:
    """Plans a circuit.

    Args:
        circuit: Starts from |0...0⟩.
        readouts: Pauli strings and sums.
        inputs: Names of the symbols that differ between examples.
        weights: Names of the symbols that all examples share.
        lanes: Floats in a vector of this processor.
        batch: See `shape_for`.
        examples_in_lanes: See `shape_for`.
        tile_bits: See `shape_for`.

    Returns:
        The plan.

    Raises:
        UnsupportedError: If the circuit is beyond the engine.
        ValueError: If it has too many qubits, or a readout is not Hermitian.
    """
    known = {qubit for readout in readouts for qubit in readout.qubits} | circuit.all_qubits()
    number = {qubit: index for index, qubit in enumerate(sorted(known))}
    qubits = max(len(known), _FEWEST)
    shape = shape_for(qubits, lanes, batch=batch, examples_in_lanes=examples_in_lanes, tile_bits=tile_bits)
    if shape.vector_bits > _MOST_VECTOR_BITS:
        most = _MOST_VECTOR_BITS + shape.lane_bits
        raise ValueError(f"{qubits} qubits are too many for the fused engine, which takes {most} at most here")
    looked_at = read(readouts, number.__getitem__)
    first, rest = constant_beginning(circuit, number.__getitem__)
    every = fuse(rest, qubits)
    unnoticed = without_effect_on(every, looked_at.qubits)
    noticed = [block for index, block in enumerate(every) if index not in unnoticed]
    of_examples = frozenset(inputs)
    hand_over(noticed, of_examples)
    pairs, strings = pairs_and_strings(noticed, looked_at, qubits, of_examples)
    through = [pair.block for pair in pairs]
    blocks = [block for block in noticed if not any(block is other for other in through)]
    beginning = fuse(first, qubits)
    edges = [block.qubits for block in blocks] + [pair.qubits for pair in pairs]
    passes, prefix_passes = schedule([block.qubits for block in beginning], edges, qubits, shape)
    numbers = range(len(beginning), len(beginning) + len(blocks))
    every_edge = [block.qubits for block in beginning] + edges
    firsts = _firsts(numbers, every_edge)
    even = frozenset(node for node, block in zip(numbers, blocks, strict=True) if preserves_parity(block, of_examples))
    together = _by_layers(passes[-1], every_edge, set(numbers) - firsts) if shape.is_whole else []
    return Plan(
        qubits, shape, beginning, blocks, pairs, strings, looked_at, passes, firsts, even, together, prefix_passes,
        tuple(inputs), tuple(weights), len(unnoticed),
    )  # fmt: skip


def _firsts(blocks: Iterable[int], edges: Sequence[Edge]) -> frozenset[int]:
    """Finds the blocks that come first on both their qubits."""
    seen: set[int] = set()
    firsts = set()
    for node in blocks:
        if seen.isdisjoint(edges[node]):
            firsts.add(node)
        seen.update(edges[node])
    return frozenset(firsts)


def _by_layers(work: Pass, edges: Sequence[Edge], later: set[int]) -> list[list[int]]:
    """Orders a pass over a whole state by layers, and returns the blocks of each that are taken back together.

    Args:
        work: The pass.
        edges: The qubits of all nodes.
        later: The blocks that are to be taken back at all.
    """
    together: list[list[int]] = []
    order: list[int] = []
    for layer in layers((node, edges[node]) for node in work.nodes):
        back = [node for node in layer if node in later]
        if len(back) >= _WORTH_KEEPING:
            together.append(back)
        order += sorted(layer, key=later.__contains__)
    work.nodes = order
    return together


def _explained(plan: Plan) -> Iterator[str]:
    shape = plan.shape
    lanes = f"{shape.lane_bits} qubits in the lanes" if shape.lane_bits else "examples in the lanes"
    gates = sum(len(block.gates) for block in [*plan.blocks, *(pair.block for pair in plan.pairs if pair.block)])
    yield f"{plan.qubits} qubits, {lanes}, tiles of {shape.tile_qubits} qubits"
    beginning = f"{_count(len(plan.beginning), 'constant block')}, computed once" if plan.beginning else "|0...0>"
    yield f"initial state: {beginning}"
    yield f"{gates} gates fused into {_count(len(plan.blocks), 'block')}" + (
        f"; {plan.dropped} dropped, because no readout can notice them" if plan.dropped else ""
    )
    if plan.even:
        yield f"blocks that preserve parity, and so cost half: {len(plan.even)}"
    through = sum(pair.block is not None for pair in plan.pairs)
    yield f"{_count(len(plan.pairs), 'pair')} looked at, {through} of them through a last block that is never applied"
    if plan.strings:
        yield f"{_count(len(plan.strings), 'Pauli string')} on more than two qubits, from the whole state"
    if plan.together:
        count, turns = sum(map(len, plan.together)), _count(len(plan.together), "layer")
        yield f"{_count(count, 'block')} in {turns} taken back from lambda alone, with the state before each layer kept"
    for index, each in enumerate(plan.passes):
        yield f"pass {index + 1}: {_work(plan, each)}" + (" (once)" if index < plan.prefix_passes else "")


def _work(plan: Plan, each: Pass) -> str:
    kinds = Counter("pair" if node >= len(plan.beginning) + len(plan.blocks) else "block" for node in each.nodes)
    tile = sorted({*each.layout.lanes, *(each.layout.vector[bit] for bit in each.tile)})
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
