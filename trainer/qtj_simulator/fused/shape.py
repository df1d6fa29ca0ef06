"""How a state is arranged in memory: what the lanes of a vector hold, and which vectors are in the cache together."""

from dataclasses import dataclass

from qtj_contract.memory import EXAMPLES_IN_LANES, TILE_BITS

__all__ = ["FEWEST_QUBITS", "Shape", "Tuning", "shape_for", "tunings_for"]

FEWEST_QUBITS = 2
"""A block acts on two, so a state has at least two."""
_FULL = 0.75
"""The part of the lanes that has to be filled for it: examples side by side take as long as so many one by one."""
_MOST_VECTOR_BITS = 30
"""As many as the native library takes: it numbers vectors with 32 bits."""
_VECTOR_BITS = (512, 256, 128)
"""Of all instruction sets of the native library."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a plan is made for.

    Attributes:
        lanes: Real numbers in a vector of this processor.
        batch: How many examples there are; None for more than enough.
        examples_in_lanes: True to put examples into the lanes, False to put qubits there; None chooses.
        tile_bits: Index bits of the vectors that stay in the cache together; None chooses.
    """

    lanes: int
    batch: int | None = None
    examples_in_lanes: bool | None = None
    tile_bits: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """How a state lies in memory.

    Attributes:
        lane_bits: Qubits in the lanes of a vector; 0 if the lanes hold examples.
        vector_bits: Qubits in the index of a vector.
        tile_bits: Of these, how many a tile has.
    """

    lane_bits: int
    vector_bits: int
    tile_bits: int

    @property
    def qubits(self) -> int:
        """Qubits of the state."""
        return self.lane_bits + self.vector_bits

    @property
    def tile_qubits(self) -> int:
        """Qubits of a tile, those in lanes included."""
        return self.lane_bits + self.tile_bits

    @property
    def is_whole(self) -> bool:
        """Whether one tile holds the state."""
        return self.tile_bits == self.vector_bits


def shape_for(qubits: int, tuning: Tuning) -> Shape:
    """Chooses how a state lies in memory.

    Args:
        qubits: At least 2.
        tuning: What it is for.

    Returns:
        The shape.

    Raises:
        ValueError: If there are too many qubits.
    """
    lane_bits = _lane_bits(qubits, tuning)
    vector_bits = qubits - lane_bits
    if vector_bits > _MOST_VECTOR_BITS:
        most = _MOST_VECTOR_BITS + lane_bits
        raise ValueError(f"{qubits} qubits are too many for the fused engine, which takes {most} at most here")
    tile_bits = TILE_BITS if tuning.tile_bits is None else tuning.tile_bits
    return Shape(lane_bits, vector_bits, min(vector_bits, tile_bits) if lane_bits else vector_bits)


def tunings_for(qubits: int, bits: int = 32) -> dict[Shape, Tuning]:
    """Returns all shapes that a processor and a batch may ask for, with a tuning for each.

    Args:
        qubits: At least 2.
        bits: The bits of a real number: 32 or 64.
    """
    every = [Tuning(width // bits, batch=batch) for width in _VECTOR_BITS for batch in (None, 1)]
    possible = [each for each in every if qubits - _lane_bits(qubits, each) <= _MOST_VECTOR_BITS]
    return {shape_for(qubits, each): each for each in possible}


def _lane_bits(qubits: int, tuning: Tuning) -> int:
    """How many qubits are in the lanes; 0 if the lanes hold examples."""
    lane_bits = tuning.lanes.bit_length() - 1
    examples = tuning.examples_in_lanes
    if examples is None:
        examples = qubits <= EXAMPLES_IN_LANES and (tuning.batch is None or _fill(tuning.batch, tuning.lanes))
    return 0 if examples or qubits < lane_bits + FEWEST_QUBITS else lane_bits


def _fill(batch: int, lanes: int) -> bool:
    """Tells whether examples are faster side by side than one after the other, with any number of threads."""
    return -(-batch // lanes) * lanes * _FULL <= batch
