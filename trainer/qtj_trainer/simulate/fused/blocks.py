"""Blocks: neighbouring gates on the same two qubits, fused into one 4x4 unitary.

    H ── rx(x) ──┐                      the constant beginning (H) becomes the initial state, computed once;
    H ── rx(y) ──┴─ ZZ^a ── X^b ──┐     one block with the head rx(x) rx(y), which each example has its own of,
    H ────────────────────────────┴─    and the tail ZZ^a X^b, which all examples share

A sweep over the state costs the same for any full 4x4 matrix, so everything that fits into a block is free.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import cirq

from qtj_trainer.simulate.fused.gates import Gate, elementary

__all__ = ["Block", "constant_beginning", "fuse", "without_effect_on"]


@dataclass(slots=True)
class Block:
    """Gates that act on two qubits and nothing else in between.

    Attributes:
        qubits: Two different qubits, by number.
        gates: In order, each with the positions in `qubits` of what it acts on.
    """

    qubits: tuple[int, int]
    gates: list[tuple[Gate, tuple[int, ...]]] = field(default_factory=list)

    def add(self, gate: Gate, qubits: Sequence[int]) -> None:
        """Appends a gate on some of the block's qubits."""
        self.gates.append((gate, tuple(self.qubits.index(qubit) for qubit in qubits)))

    def put_first(self, gate: Gate, qubits: Sequence[int]) -> None:
        """Puts a gate on some of the block's qubits before all others."""
        self.gates.insert(0, (gate, tuple(self.qubits.index(qubit) for qubit in qubits)))

    def depends_on(self, symbols: frozenset[str]) -> bool:
        """Whether one of the symbols appears in it."""
        return any(gate.symbols & symbols for gate, _ in self.gates)

    def split(self, inputs: frozenset[str]) -> tuple[Self, Self]:
        """Returns the head, up to the last gate that depends on data, and the tail."""
        dependent = [index for index, (gate, _) in enumerate(self.gates) if gate.symbols & inputs]
        cut = dependent[-1] + 1 if dependent else 0
        return type(self)(self.qubits, self.gates[:cut]), type(self)(self.qubits, self.gates[cut:])

    @property
    def is_constant(self) -> bool:
        """Whether no symbol appears in it."""
        return not any(gate.symbols for gate, _ in self.gates)


Numbered = tuple[Gate, tuple[int, ...]]


def constant_beginning(
    circuit: cirq.AbstractCircuit, number: Callable[[cirq.Qid], int]
) -> tuple[list[Numbered], list[Numbered]]:
    """Divides the gates of a circuit into those that act before any symbol, and the others.

    Args:
        circuit: The circuit.
        number: Numbers its qubits.

    Returns:
        Gates with the numbers of their qubits: the constant beginning, and the rest.

    Raises:
        UnsupportedError: If an operation is beyond the engine.
    """
    beginning: list[Numbered] = []
    rest: list[Numbered] = []
    touched: set[int] = set()
    for operation in circuit.all_operations():
        for gate in elementary(operation):
            qubits = tuple(number(qubit) for qubit in gate.qubits)
            if gate.angle is None and touched.isdisjoint(qubits):
                beginning.append((gate, qubits))
            else:
                rest.append((gate, qubits))
                touched.update(qubits)
    return beginning, rest


def fuse(gates: Iterable[Numbered], qubits: int) -> list[Block]:
    """Fuses gates into blocks.

    A gate on one qubit waits for the next block there; when none comes, it joins the last one.

    Args:
        gates: Gates in order, with the numbers of their qubits.
        qubits: How many qubits there are, at least 2.

    Returns:
        Blocks in an order in which they may be applied.
    """
    blocks: list[Block] = []
    last: dict[int, Block] = {}
    waiting: dict[int, list[Numbered]] = {}
    for gate, acts_on in gates:
        if len(acts_on) == 1:
            waiting.setdefault(acts_on[0], []).append((gate, acts_on))
            continue
        first, second = acts_on
        block = last.get(first)
        if block is None or block is not last.get(second):
            block = Block((first, second))
            blocks.append(block)
            last[first] = last[second] = block
        for qubit in acts_on:
            _move(waiting.pop(qubit, ()), block)
        block.add(gate, acts_on)
    _settle(waiting, last, blocks, qubits)
    return blocks


def _move(waiting: Iterable[Numbered], block: Block) -> None:
    for gate, acts_on in waiting:
        block.add(gate, acts_on)


def _settle(waiting: dict[int, list[Numbered]], last: dict[int, Block], blocks: list[Block], qubits: int) -> None:
    """Puts gates on one qubit that no block came for into the last block there, or two by two into new ones."""
    lonely = [qubit for qubit in waiting if qubit not in last]
    for first, second in _pairs(lonely, qubits):
        block = Block((first, second))
        blocks.append(block)
        last[first] = last[second] = block
    for qubit, gates in waiting.items():
        _move(gates, last[qubit])


def _pairs(lonely: Sequence[int], qubits: int) -> Iterator[tuple[int, int]]:
    for index in range(0, len(lonely), 2):
        first, *rest = lonely[index : index + 2]
        yield first, rest[0] if rest else (first + 1) % qubits


def without_effect_on(blocks: Sequence[Block], qubits: Iterable[int]) -> set[int]:
    """Finds the blocks that no observable on `qubits` can notice: those outside of the causal cone.

    Returns:
        Indices of `blocks`.
    """
    cone = set(qubits)
    unnoticed = set()
    for index in range(len(blocks) - 1, -1, -1):
        if cone.isdisjoint(blocks[index].qubits):
            unnoticed.add(index)
        else:
            cone.update(blocks[index].qubits)
    return unnoticed
