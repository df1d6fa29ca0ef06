"""Blocks: neighbouring gates on the same two qubits, fused into one 4x4 unitary.

    H ── rx(x) ──┐                      the constant beginning (H) becomes the initial state, computed once;
    H ── rx(y) ──┴─ ZZ^a ── X^b ──┐     one block with the head rx(x) rx(y), which differs between examples,
    H ────────────────────────────┴─    and the tail ZZ^a X^b, which all examples share

A sweep over the state costs the same for any full 4x4 matrix, so a block can take any number of gates at the same cost.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import cirq

from qtj_simulator.fused.gates import Gate
from qtj_simulator.fused.reading import elementary

__all__ = ["Block", "Fusion", "Placed", "causal_cone", "constant_beginning", "fuse"]

Numbered = tuple[Gate, tuple[int, ...]]
"""A gate with the numbers of its qubits."""
Placed = tuple[Gate, tuple[int, ...]]
"""A gate with the positions of its qubits in a block: 0, 1 or both."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Gates on two qubits with no other gate between them. Blocks are compared by identity.

    Attributes:
        qubits: Two different qubits, by number.
        gates: In order, each with the positions in `qubits` on which it acts.
    """

    qubits: tuple[int, int]
    gates: tuple[Placed, ...] = ()

    def followed_by(self, gate: Gate, qubits: Sequence[int]) -> Self:
        """Returns the block with a gate on some of its qubits after all others."""
        return replace(self, gates=(*self.gates, self._placed(gate, qubits)))

    def preceded_by(self, gate: Gate, qubits: Sequence[int]) -> Self:
        """Returns the block with a gate on some of its qubits before all others."""
        return replace(self, gates=(self._placed(gate, qubits), *self.gates))

    def depends_on(self, symbols: frozenset[str]) -> bool:
        """Whether one of the symbols appears in it."""
        return bool(symbols) and any(gate.symbols & symbols for gate, _ in self.gates)

    def split(self, inputs: frozenset[str]) -> tuple[Self, Self]:
        """Returns the head, up to the last gate that depends on data, and the tail."""
        dependent = [index for index, (gate, _) in enumerate(self.gates) if inputs and gate.symbols & inputs]
        cut = dependent[-1] + 1 if dependent else 0
        return replace(self, gates=self.gates[:cut]), replace(self, gates=self.gates[cut:])

    @property
    def is_constant(self) -> bool:
        """Whether no symbol appears in it."""
        return not any(gate.symbols for gate, _ in self.gates)

    def _placed(self, gate: Gate, qubits: Sequence[int]) -> Placed:
        return gate, tuple(self.qubits.index(qubit) for qubit in qubits)


def constant_beginning(
    circuit: cirq.AbstractCircuit, number: Mapping[cirq.Qid, int]
) -> tuple[list[Numbered], list[Numbered]]:
    """Divides the gates of a circuit into those that act before any symbol, and the others.

    Args:
        circuit: The circuit.
        number: The numbers of its qubits.

    Returns:
        Gates with the numbers of their qubits: the constant beginning, and the rest.

    Raises:
        UnsupportedError: If the engine does not support an operation.
    """
    beginning: list[Numbered] = []
    rest: list[Numbered] = []
    touched: set[int] = set()
    for operation in circuit.all_operations():
        for gate in elementary(operation):
            qubits = tuple(number[qubit] for qubit in gate.qubits)
            if gate.angle is None and touched.isdisjoint(qubits):
                beginning.append((gate, qubits))
            else:
                rest.append((gate, qubits))
                touched.update(qubits)
    return beginning, rest


def fuse(gates: Iterable[Numbered], qubits: int) -> list[Block]:
    """Fuses gates into blocks.

    A gate on one qubit joins the next block on its qubit, or the last one if there is no next block.

    Args:
        gates: Gates in order, with the numbers of their qubits.
        qubits: How many qubits there are, at least 2.

    Returns:
        Blocks in an order in which they may be applied.
    """
    fusion = Fusion()
    for gate, acts_on in gates:
        fusion.add(gate, acts_on)
    fusion.finish(qubits)
    return [growing.block() for growing in fusion.blocks]


@dataclass(frozen=True, slots=True, eq=False)
class _Growing:
    """A block that more gates may join."""

    qubits: tuple[int, int]
    gates: list[Numbered] = field(default_factory=list)

    def block(self) -> Block:
        position = {qubit: index for index, qubit in enumerate(self.qubits)}
        return Block(self.qubits, tuple((gate, tuple(map(position.__getitem__, on))) for gate, on in self.gates))


@dataclass(frozen=True, slots=True)
class Fusion:
    """The blocks so far, the last one on each qubit, and the gates on one qubit that wait for the next block on it."""

    blocks: list[_Growing] = field(default_factory=list)
    last: dict[int, _Growing] = field(default_factory=dict)
    waiting: dict[int, list[Numbered]] = field(default_factory=dict)

    def add(self, gate: Gate, acts_on: tuple[int, ...]) -> None:
        """Puts a gate after all others."""
        if len(acts_on) == 1:
            self.waiting.setdefault(acts_on[0], []).append((gate, acts_on))
            return
        first, second = acts_on
        block = self.last.get(first)
        if block is None or block is not self.last.get(second):
            block = self._opened(first, second)
        for qubit in acts_on:
            block.gates.extend(self.waiting.pop(qubit, ()))
        block.gates.append((gate, acts_on))

    def stop(self, acts_on: tuple[int, ...], qubits: int) -> None:
        """Ends the blocks on these qubits: what is not a gate acts there now.

        The block that is made for one of them may have another of them as its second qubit, so all end together.
        """
        for qubit in acts_on:
            if qubit in self.waiting and qubit not in self.last:
                others = (other for other in self.waiting if other != qubit and other not in self.last)
                self._opened(qubit, next(others, (qubit + 1) % qubits))
            if gates := self.waiting.pop(qubit, None):
                self.last[qubit].gates.extend(gates)
        for qubit in acts_on:
            self.last.pop(qubit, None)

    def finish(self, qubits: int) -> None:
        """Puts waiting gates on one qubit into the last block on their qubit, or in pairs into new blocks."""
        lonely = [qubit for qubit in self.waiting if qubit not in self.last]
        for first, second in _pairs(lonely, qubits):
            self._opened(first, second)
        for qubit, gates in self.waiting.items():
            self.last[qubit].gates.extend(gates)

    def _opened(self, first: int, second: int) -> _Growing:
        block = _Growing((first, second))
        self.blocks.append(block)
        self.last[first] = self.last[second] = block
        return block


def _pairs(lonely: Sequence[int], qubits: int) -> Iterator[tuple[int, int]]:
    for index in range(0, len(lonely), 2):
        first, *rest = lonely[index : index + 2]
        yield first, rest[0] if rest else (first + 1) % qubits


def causal_cone(qubits: Iterable[int], blocks: Sequence[Block]) -> list[Block]:
    """Returns the blocks in the causal cone of `qubits`: the others have no effect on an observable there.

    Args:
        qubits: The measured qubits.
        blocks: All blocks, in order.

    Returns:
        The blocks in the cone, in order.
    """
    cone = set(qubits)
    noticed = []
    for block in reversed(blocks):
        if not cone.isdisjoint(block.qubits):
            cone.update(block.qubits)
            noticed.append(block)
    return noticed[::-1]
