"""Where everything is in a packed program (`program.py`), for kernels that read it where it lies."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

__all__ = ["Angles", "PassAt", "Tables", "tables"]

Integers = NDArray[np.int32]
Floats = NDArray[np.float64]

_HEADER = 18
_GATE, _BLOCK, _PAIR, _TERM, _STRING, _OPERATION = 3, 2, 1, 3, 7, 7
"""How many integers each has."""


@dataclass(frozen=True, slots=True)
class Angles:
    """Angles as linear functions of symbols.

    Attributes:
        constants: Of each angle.
        which: Of each slope, its angle.
        symbols: Of each slope, its symbol: weights first, then inputs.
        factors: Of each slope.
    """

    constants: Floats
    which: NDArray[np.intp]
    symbols: NDArray[np.intp]
    factors: Floats

    def at(self, symbols: Floats) -> Floats:
        """Returns the angles (batch, angles) for symbols (batch, symbols)."""
        angles = np.tile(self.constants, (len(symbols), 1))
        np.add.at(angles.T, self.which, (symbols[:, self.symbols] * self.factors).T)
        return angles

    def slopes(self, gradient: Floats, symbols: int) -> Floats:
        """Returns the gradient by symbols (batch, symbols) from that by angles (batch, angles)."""
        slopes = np.zeros((len(gradient), symbols))
        np.add.at(slopes.T, self.symbols, (gradient[:, self.which] * self.factors).T)
        return slopes


@dataclass(frozen=True, slots=True)
class PassAt:
    """A pass.

    Attributes:
        at: Where it begins in the program.
        inside: Where the amplitudes of its first tile are in the state.
    """

    at: int
    inside: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Tables:
    """Places in a program, and how much of everything there is.

    Attributes:
        sizes: By the names that `native/call.h` has for them: sizes and places.
        kind_at: Where each kind begins.
        head_at: Where each head begins.
        kind_slot: The number of the first gate of each kind, and how many gates all have.
        head_slot: The same of heads.
        shared: The angles that all examples share.
        example: The angles of each example.
        beginning: The passes that make the initial state.
        passes: The other passes.
    """

    sizes: dict[str, int]
    kind_at: Integers
    head_at: Integers
    kind_slot: Integers
    head_slot: Integers
    shared: Angles
    example: Angles
    beginning: tuple[PassAt, ...]
    passes: tuple[PassAt, ...]


def tables(program: Integers, constants: Floats) -> Tables:
    """Finds everything in a program.

    Args:
        program: The integers of a plan without qubits or examples in lanes.
        constants: Those that it names.

    Returns:
        Where it is.
    """
    _, _, qubits, tile_bits, shared, example, gates, kinds, heads, blocks, pairs, terms, strings, readouts, *_, = (
        program[:_HEADER].tolist()
    )  # fmt: skip
    at, shared_angles = _angles(program, constants, _HEADER, shared)
    at, example_angles = _angles(program, constants, at, example)
    sizes = {
        "qubits": qubits, "tile_bits": tile_bits, "shared_angles": shared, "example_angles": example, "kinds": kinds,
        "heads": heads, "pairs": pairs, "terms": terms, "strings": strings, "readouts": readouts, "gates_at": at,
    }  # fmt: skip
    kind_at, at = _ragged(program, at + _GATE * gates, kinds, 1)
    head_at, at = _ragged(program, at, heads, 2)
    for name, count in ("blocks_at", _BLOCK * blocks), ("pairs_at", pairs * _PAIR), ("terms_at", terms * _TERM):
        sizes[name], at = at, at + count
    sizes["strings_at"], at = at, at + strings * _STRING
    sizes["offsets_at"] = int(program[at])
    passes, once = _passes(program, at + 1), int(program[_HEADER - 1])
    kind_slot, head_slot = _slots(program[kind_at]), _slots(program[head_at + 1])
    sizes |= {"kind_slots": int(kind_slot[-1]), "head_slots": int(head_slot[-1])}
    return Tables(
        sizes, kind_at, head_at, kind_slot, head_slot, shared_angles, example_angles, passes[:once], passes[once:]
    )


def _angles(program: Integers, constants: Floats, at: int, count: int) -> tuple[int, Angles]:
    starts, which = [], list[int]()
    places = list[int]()
    for angle in range(count):
        starts.append(int(program[at]))
        slopes = int(program[at + 1])
        which += [angle] * slopes
        places += range(at + 2, at + 2 + 2 * slopes, 2)
        at += 2 + 2 * slopes
    of = np.array(places, np.intp)
    return at, Angles(
        constants[np.array(starts, np.intp)], np.array(which, np.intp), program[of].astype(np.intp),
        constants[program[of + 1]],
    )  # fmt: skip


def _ragged(program: Integers, at: int, count: int, before: int) -> tuple[Integers, int]:
    """Where lists of gates begin, whose length is the last of the integers `before` them; and where the last ends."""
    places = []
    for _ in range(count):
        places.append(at)
        at += before + int(program[at + before - 1])
    return np.array(places, np.int32), at


def _slots(counts: Integers) -> Integers:
    return np.array([0, *accumulate(counts.tolist())], np.int32)


def _passes(program: Integers, at: int) -> tuple[PassAt, ...]:
    passes = []
    while at < len(program):
        mask = int(program[at + 1]) & 0xFFFFFFFF
        passes.append(PassAt(at, _spread(mask)))
        at += 2 + _OPERATION * int(program[at])
    return tuple(passes)


def _spread(mask: int) -> NDArray[np.uint32]:
    """All numbers whose set bits are among those of a mask, in order."""
    numbers = np.zeros(1, np.uint32)
    for bit in range(32):
        if mask >> bit & 1:
            numbers = np.concatenate([numbers, numbers | np.uint32(1 << bit)])
    return numbers
