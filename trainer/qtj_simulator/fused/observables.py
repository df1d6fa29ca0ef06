"""Readouts: at which place in the circuit each Pauli term is measured.

A readout on one or two qubits needs no sweep of its own. Just before the last block on its qubits, the 4x4 density
matrix of the pair gives its value, <O> = tr(U† O U ρ), and the gradient of that block's angles; the block is never
applied. This is possible if all readouts on the pair act only on the pair. Otherwise the pair is measured after the
block, and Pauli strings on three and more qubits are measured on the whole state.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block
from qtj_simulator.specification import real_coefficient

__all__ = ["Observables", "Pair", "Readouts", "Term", "observe", "read"]

_PAULIS = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], complex),
    "Y": np.array([[0, -1j], [1j, 0]], complex),
    "Z": np.diag([1, -1]).astype(complex),
}
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Term:
    """A Pauli string with its factor, part of a readout."""

    readout: int
    factor: float
    paulis: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Readouts:
    """All readouts of a circuit as terms.

    Attributes:
        offsets: Of each readout, its identity term.
        terms: The other terms of all readouts.
    """

    offsets: tuple[float, ...]
    terms: tuple[Term, ...]

    @property
    def qubits(self) -> set[int]:
        """The measured qubits."""
        return {qubit for term in self.terms for qubit in term.paulis}


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two qubits that are measured together. Pairs are compared by identity.

    Attributes:
        qubits: Their numbers; those of the block in its order, if there is one.
        block: The last block on them, which is looked through instead of applied.
        terms: The measured terms.
    """

    qubits: tuple[int, int]
    block: Block | None
    terms: tuple[Term, ...] = ()

    def matrices(self) -> Iterator[tuple[int, NDArray[np.complex128]]]:
        """Yields each readout with its 4x4 observable."""
        sums: dict[int, NDArray[np.complex128]] = defaultdict(lambda: np.zeros((4, 4), complex))
        for term in self.terms:
            factors = [_PAULIS[term.paulis.get(qubit, "I")] for qubit in self.qubits]
            sums[term.readout] += term.factor * reduce(np.kron, factors)
        yield from sums.items()


@dataclass(frozen=True, slots=True)
class Observables:
    """How all readouts are taken from a state.

    Attributes:
        offsets: Of each readout, its identity term.
        pairs: The pairs on which terms on one and two qubits are measured.
        strings: Terms on more qubits.
    """

    offsets: tuple[float, ...]
    pairs: tuple[Pair, ...]
    strings: tuple[Term, ...]

    @property
    def looked_through(self) -> list[Block]:
        """The blocks that are looked through instead of applied."""
        return [pair.block for pair in self.pairs if pair.block]

    def applied(self, blocks: Iterable[Block]) -> list[Block]:
        """Returns the blocks that are not looked through, in order."""
        through = frozenset(self.looked_through)
        return [block for block in blocks if block not in through]


def read(readouts: Sequence[cirq.PauliString | cirq.PauliSum], number: Mapping[cirq.Qid, int]) -> Readouts:
    """Takes readouts apart.

    Args:
        readouts: Hermitian Pauli strings and sums.
        number: The numbers of their qubits.

    Returns:
        Their terms.

    Raises:
        ValueError: If a factor is not real.
    """
    offsets = [0.0] * len(readouts)
    terms = []
    for index, readout in enumerate(readouts):
        strings: Iterable[cirq.PauliString] = readout if isinstance(readout, cirq.PauliSum) else [readout]
        for string in strings:
            factor = real_coefficient(string)
            if len(string) == 0:
                offsets[index] += factor
            else:
                # Cirq keeps the strings of a sum as sets, whose order differs between processes.
                items = sorted(string.items()) if isinstance(readout, cirq.PauliSum) else string.items()
                terms.append(Term(index, factor, {number[qubit]: str(pauli) for qubit, pauli in items}))
    return Readouts(tuple(offsets), tuple(terms))


def observe(blocks: Sequence[Block], readouts: Readouts, qubits: int, inputs: frozenset[str]) -> Observables:
    """Decides how each term is measured.

    Args:
        blocks: The circuit's blocks, in order.
        readouts: The readouts.
        qubits: How many qubits there are, at least 2.
        inputs: The names of the symbols that differ between examples.

    Returns:
        Pairs, and the terms on more than two qubits.
    """
    short = [term for term in readouts.terms if len(term.paulis) <= _PAIR]
    closed = [_looked_through(block, short) for block in _last(blocks) if _is_closed(block, readouts, inputs)]
    covered = {qubit for pair in closed for qubit in pair.qubits}
    others = [term for term in short if covered.isdisjoint(term.paulis)]
    strings = tuple(term for term in readouts.terms if len(term.paulis) > _PAIR)
    return Observables(readouts.offsets, (*closed, *_open_pairs(others, blocks, qubits)), strings)


def _last(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yields the blocks that are the last on both of their qubits."""
    last = {qubit: block for block in blocks for qubit in block.qubits}
    for block in blocks:
        if all(last[qubit] is block for qubit in block.qubits):
            yield block


def _is_closed(block: Block, readouts: Readouts, inputs: frozenset[str]) -> bool:
    """Whether no readout reaches out of the block's pair, and its unitary is the same for all examples."""
    pair = set(block.qubits)
    if block.depends_on(inputs):
        return False
    return all(pair >= term.paulis.keys() for term in readouts.terms if pair & term.paulis.keys())


def _looked_through(block: Block, terms: Iterable[Term]) -> Pair:
    pair = set(block.qubits)
    return Pair(block.qubits, block, tuple(term for term in terms if pair >= term.paulis.keys()))


def _open_pairs(terms: Iterable[Term], blocks: Iterable[Block], qubits: int) -> Iterator[Pair]:
    """Puts terms into pairs that are measured after all blocks. If possible, two single qubits share a pair."""
    partner = {qubit: sum(block.qubits) - qubit for block in blocks for qubit in block.qubits}
    home: dict[frozenset[int], tuple[int, int]] = {}
    looked_at: dict[tuple[int, int], list[Term]] = {}
    for term in sorted(terms, key=lambda term: -len(term.paulis)):
        qubit, *others = term.paulis
        other = others[0] if others else partner.get(qubit, (qubit + 1) % qubits)
        pair = home.get(frozenset(term.paulis)) or (qubit, other)
        for part in (pair, pair[:1], pair[1:]):
            home.setdefault(frozenset(part), pair)
        looked_at.setdefault(pair, []).append(term)
    for pair, found in looked_at.items():
        yield Pair(pair, None, tuple(found))
