"""Blocks that preserve parity: they never take 00 or 11 to 01 or 10, and so cost half.

    ── A ──┐              ┌── C ──    Gates on one qubit may be part of the block before them or of the one after. If
           ├ ZZ^a ── XX^b ┤           A and B join the blocks before, and C and D those after, two 2x2 matrices are
    ── B ──┘              └── D ──    left: one for {00, 11} and one for {01, 10}.

A block that takes gates over is a full 4x4 matrix, which costs the same with any gates. So every other block of a row
of neighbours becomes cheaper. A gate such as CNOT, which preserves parity except for the axes of its qubits, is written
as one that does, with fixed gates on one qubit around it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block, Placed
from qtj_simulator.fused.gates import Gate

__all__ = ["move_gates", "preserves_parity"]

Wire = tuple[int, int]
"""A block's place in the list, and one of its qubits."""
Matrix = NDArray[np.complex128]

_ODD = np.array([[(row ^ column) in {1, 2} for column in range(4)] for row in range(4)])
_ROUNDING = 1e-12
_AXES: tuple[Matrix, ...] = (
    np.eye(2, dtype=complex),
    np.array([[1, 1], [1, -1]], complex) / np.sqrt(2),
    np.array([[1, -1j], [1, 1j]], complex) / np.sqrt(2),
)
"""Rotations of the axes Z, X and Y to Z."""


@dataclass(frozen=True, slots=True)
class _Wires:
    """The place of the block before and after each block, on each of its qubits."""

    before: Mapping[Wire, int]
    after: Mapping[Wire, int]

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Self:
        before: dict[Wire, int] = {}
        last: dict[int, int] = {}
        for place, block in enumerate(blocks):
            for qubit in block.qubits:
                if qubit in last:
                    before[place, qubit] = last[qubit]
                last[qubit] = place
        return cls(before, {(earlier, qubit): later for (later, qubit), earlier in before.items()})

    def by_worth(self, blocks: Sequence[Block]) -> list[int]:
        """Orders places of blocks by how much is saved: a last one may never be applied, a first one is not undone."""

        def is_at_end(place: int, side: Mapping[Wire, int]) -> bool:
            return not any((place, qubit) in side for qubit in blocks[place].qubits)

        return sorted(
            range(len(blocks)), key=lambda place: (is_at_end(place, self.after), is_at_end(place, self.before))
        )


@dataclass(frozen=True, slots=True)
class _Change:
    """A block that keeps `gates`, while neighbours take over others: at their end, and at their beginning."""

    place: int
    gates: tuple[Placed, ...]
    to_end: list[tuple[int, Gate, int]]
    to_beginning: list[tuple[int, Gate, int]]

    @property
    def takers(self) -> set[int]:
        return {place for place, _, _ in (*self.to_end, *self.to_beginning)}

    def made_in(self, blocks: Sequence[Block]) -> list[Block]:
        """Returns the blocks after the change."""
        changed = list(blocks)
        changed[self.place] = replace(changed[self.place], gates=self.gates)
        for place, gate, qubit in self.to_end:
            changed[place] = changed[place].followed_by(gate, (qubit,))
        for place, gate, qubit in reversed(self.to_beginning):
            changed[place] = changed[place].preceded_by(gate, (qubit,))
        return changed


def preserves_parity(block: Block, inputs: frozenset[str]) -> bool:
    """Tells whether a block costs half: its gates preserve parity, whatever their angles, and all examples share them.

    Args:
        block: The block.
        inputs: The symbols that differ between examples.
    """
    return not block.depends_on(inputs) and all(_is_even(gate) for gate, _ in block.gates)


def move_gates(blocks: Sequence[Block], inputs: frozenset[str]) -> list[Block]:
    """Moves gates on one qubit to neighbouring blocks, so that more blocks preserve parity.

    Args:
        blocks: All blocks, in order.
        inputs: The symbols that differ between examples. A block with one of them stays a full matrix, and gets no
            gates at its beginning.

    Returns:
        Blocks on the same qubits, in the same order, with the same unitary in total.
    """
    wires = _Wires.of(blocks)
    changed = list(blocks)
    chosen: set[int] = set()
    for place in wires.by_worth(blocks):
        change = _change(place, changed, wires, inputs)
        if change is not None and chosen.isdisjoint(change.takers):
            chosen.add(place)
            changed = change.made_in(changed)
    return changed


def _change(place: int, blocks: Sequence[Block], wires: _Wires, inputs: frozenset[str]) -> _Change | None:
    block = blocks[place]
    if block.depends_on(inputs):
        return None
    gates = [part for gate, positions in block.gates for part in _with_even_axes(gate, positions)]
    first = _odd_beginning(gates)
    last = {len(gates) - 1 - index for index in _odd_beginning(gates[::-1])} - first
    core = tuple(placed for index, placed in enumerate(gates) if index not in first | last)
    if not all(_is_even(gate) for gate, _ in core):
        return None
    to_end = _taken(place, block, [gates[index] for index in sorted(first)], wires.before)
    to_beginning = _taken(place, block, [gates[index] for index in sorted(last)], wires.after)
    if to_end is None or to_beginning is None or any(blocks[taker].depends_on(inputs) for taker, _, _ in to_beginning):
        return None
    return _Change(place, core, to_end, to_beginning)


def _taken(
    place: int, block: Block, gates: Iterable[Placed], neighbours: Mapping[Wire, int]
) -> list[tuple[int, Gate, int]] | None:
    """Finds the blocks that take gates over, each on one qubit; None if a gate cannot be taken over."""
    placed = [(gate, block.qubits[position]) for gate, (position,) in gates]
    if any((place, qubit) not in neighbours for _, qubit in placed):
        return None
    return [(neighbours[place, qubit], gate, qubit) for gate, qubit in placed]


def _odd_beginning(gates: Sequence[Placed]) -> set[int]:
    """Finds the gates on one qubit at the beginning: on each qubit, up to the last that does not preserve parity."""
    found: set[int] = set()
    kept: dict[int, list[int]] = {0: [], 1: []}
    for index, (gate, places) in enumerate(gates):
        if len(places) > 1:
            break
        kept[places[0]].append(index)
        if not _is_even(gate):
            found.update(kept[places[0]])
            kept[places[0]].clear()
    return found


def _is_even(gate: Gate) -> bool:
    return _are_even(gate.projectors.tobytes(), len(gate.qubits))


@lru_cache(maxsize=1024)
def _are_even(projectors: bytes, qubits: int) -> bool:
    """A circuit has few different gates, and each is asked about several times."""
    matrices = np.frombuffer(projectors, complex).reshape(-1, 2**qubits, 2**qubits)
    return not (matrices[:, [0, 1], [1, 0]] if qubits == 1 else matrices[:, _ODD]).any()


def _with_even_axes(gate: Gate, places: tuple[int, ...]) -> Iterator[Placed]:
    """Writes a gate on two qubits as one that preserves parity between fixed gates on one, if there are such."""
    axes = None if len(places) == 1 or _is_even(gate) else _even_axes(gate.projectors.tobytes())
    if axes is None:
        yield gate, places
        return
    both = np.kron(_AXES[axes[0]], _AXES[axes[1]])
    projectors = both @ gate.projectors @ both.conj().T
    projectors[:, _ODD] = 0
    turns = [(Gate((qubit,), (0.0,), _AXES[axis][np.newaxis], None), (place,))
             for axis, qubit, place in zip(axes, gate.qubits, places, strict=True) if axis]  # fmt: skip
    yield from turns
    yield Gate(gate.qubits, gate.eigenvalues, projectors, gate.angle), places
    for turn, place in turns:
        yield Gate(turn.qubits, (0.0,), turn.projectors.conj().swapaxes(1, 2), None), place


@lru_cache(maxsize=256)
def _even_axes(projectors: bytes) -> tuple[int, int] | None:
    """Finds the axes of a gate's qubits which, turned to Z, make it preserve parity."""
    matrices = np.frombuffer(projectors, complex).reshape(-1, 4, 4)
    for axes in product(range(len(_AXES)), range(len(_AXES))):
        both = np.kron(_AXES[axes[0]], _AXES[axes[1]])
        if np.abs((both @ matrices @ both.conj().T)[:, _ODD]).max() < _ROUNDING:
            return axes
    return None
