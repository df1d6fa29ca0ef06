"""Readouts: which Pauli terms are looked at where.

A readout on one or two qubits needs no sweep of its own. Just before the last block on its qubits, the 4x4 density
matrix of the pair tells its value, <O> = tr(U† O U ρ), and the gradient of that block's angles; the block is never
applied. This needs every readout that touches the pair to stay within it. Otherwise the pair is looked at after the
block, and Pauli strings on three and more qubits are taken from the whole state.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_trainer.simulate.fused.blocks import Block
from qtj_trainer.simulate.specification import real_coefficient

__all__ = ["Pair", "Readouts", "Term", "pairs_and_strings", "read"]

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
    """All readouts of a circuit, taken apart.

    Attributes:
        offsets: Of each readout, its identity term.
        terms: The other terms of all readouts.
    """

    offsets: tuple[float, ...]
    terms: tuple[Term, ...]

    @property
    def qubits(self) -> set[int]:
        """The qubits that are looked at."""
        return {qubit for term in self.terms for qubit in term.paulis}


@dataclass(slots=True)
class Pair:
    """Two qubits that are looked at together.

    Attributes:
        qubits: Their numbers; those of the block in its order, if there is one.
        block: The last block on them, which is looked through instead of applied.
        terms: What is looked at.
    """

    qubits: tuple[int, int]
    block: Block | None
    terms: list[Term] = field(default_factory=list)

    def matrices(self) -> Iterator[tuple[int, NDArray[np.complex128]]]:
        """Yields each readout with its 4x4 observable."""
        sums: dict[int, NDArray[np.complex128]] = defaultdict(lambda: np.zeros((4, 4), complex))
        for term in self.terms:
            factors = [_PAULIS[term.paulis.get(qubit, "I")] for qubit in self.qubits]
            sums[term.readout] += term.factor * reduce(np.kron, factors)
        yield from sums.items()


def read(readouts: Sequence[cirq.PauliString | cirq.PauliSum], number: Callable[[cirq.Qid], int]) -> Readouts:
    """Takes readouts apart.

    Args:
        readouts: Hermitian Pauli strings and sums.
        number: Numbers their qubits.

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
                paulis = {number(qubit): str(pauli) for qubit, pauli in string.items()}
                terms.append(Term(index, factor, paulis))
    return Readouts(tuple(offsets), tuple(terms))


def pairs_and_strings(
    blocks: Sequence[Block], readouts: Readouts, qubits: int, inputs: frozenset[str]
) -> tuple[list[Pair], list[Term]]:
    """Decides how each term is looked at.

    Args:
        blocks: The circuit's blocks, in order.
        readouts: The readouts.
        qubits: How many qubits there are, at least 2.
        inputs: The names of the symbols that differ between examples.

    Returns:
        Pairs, and the terms on more than two qubits.
    """
    strings = [term for term in readouts.terms if len(term.paulis) > _PAIR]
    looked_through = [block for block in _last(blocks) if _is_closed(block, readouts, inputs)]
    pairs = [Pair(block.qubits, block) for block in looked_through]
    home = {qubit: pair for pair in pairs for qubit in pair.qubits}
    others = [term for term in readouts.terms if len(term.paulis) <= _PAIR and not home.keys() & term.paulis.keys()]
    for term in readouts.terms:
        if home.keys() & term.paulis.keys():
            home[next(iter(term.paulis))].terms.append(term)
    return [*pairs, *_open_pairs(others, blocks, qubits)], strings


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


def _open_pairs(terms: Sequence[Term], blocks: Sequence[Block], qubits: int) -> list[Pair]:
    """Puts terms into pairs that are looked at after all blocks: two single qubits share one where they can."""
    found: dict[frozenset[int], Pair] = {}
    for term in terms:
        if len(term.paulis) == _PAIR:
            first, second = term.paulis
            found.setdefault(frozenset(term.paulis), Pair((first, second), None)).terms.append(term)
    partner = {qubit: sum(block.qubits) - qubit for block in blocks for qubit in block.qubits}
    for term in terms:
        if len(term.paulis) == 1:
            (qubit,) = term.paulis
            pair = next((pair for key, pair in found.items() if qubit in key), None)
            if pair is None:
                pair = Pair((qubit, partner.get(qubit, (qubit + 1) % qubits)), None)
                found[frozenset(pair.qubits)] = pair
            pair.terms.append(term)
    return list(found.values())
