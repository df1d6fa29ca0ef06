"""The order of work: which blocks are applied while which part of the state is in the cache.

A tile holds the amplitudes that differ in a set of qubits, few enough for the cache. Blocks on those qubits are done
tile by tile, in one pass over memory for any number of blocks. So few passes are best:

    qubits 0..7     ════╤═══╤════       pass 1 does the first blocks on 0..4, pass 2 the others; each pass reads and
    pass 1  0 1 2 3 4   │   │           writes the state once
    pass 2        3 4 5 6 7

The qubits in the lanes of the vectors are part of every tile. If passes have too few qubits in common, some qubits are
swapped with others at the end of a pass.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from qtj_simulator.fused.shape import Shape

__all__ = ["Edge", "Layout", "OnTwoQubits", "Pass", "schedule"]

Edge = tuple[int, int]
"""The two qubits of a node."""


class OnTwoQubits(Protocol):
    """An operation of a pass: a block that is applied, or a pair that is measured."""

    @property
    def qubits(self) -> Edge:
        """Two different ones."""


N = TypeVar("N", bound=OnTwoQubits)
Work = list[tuple[N, Edge]]
"""Nodes in order, with their qubits."""

_BOTH_MORE = 1
"""Shuffles of a node with both qubits in the lanes, beyond those of two nodes with one: of 32 and 2 times 8 to apply a
block to four vectors, as most are hidden. (It needs 8 if it preserves parity, which is not considered here.)"""
_TRIES = 12
_RESTARTS = 6
_MANY = 3000


@dataclass(frozen=True, slots=True)
class Layout:
    """Which qubit is where: in the lane bits and in the bits of the vector index, each from the lowest."""

    lanes: tuple[int, ...]
    vector: tuple[int, ...]

    def swapped(self, lane: int, bit: int) -> "Layout":
        """Exchanges a lane bit with a vector bit."""
        lanes, vector = list(self.lanes), list(self.vector)
        lanes[lane], vector[bit] = vector[bit], lanes[lane]
        return Layout(tuple(lanes), tuple(vector))


@dataclass(frozen=True, slots=True)
class Pass(Generic[N]):
    """One pass over the state.

    Attributes:
        nodes: What is done, in order.
        layout: Where the qubits are when it begins.
        tile: The vector bits of a tile, from the lowest.
        swaps: Lane bits and vector bits that are swapped at its end.
    """

    nodes: tuple[N, ...]
    layout: Layout
    tile: tuple[int, ...]
    swaps: tuple[tuple[int, int], ...]

    @property
    def tile_qubits(self) -> list[int]:
        """The qubits of a tile that are not in lanes, from the lowest bit."""
        return [self.layout.vector[bit] for bit in self.tile]


def schedule(once: Sequence[N], nodes: Sequence[N], shape: Shape) -> tuple[list[Pass[N]], list[Pass[N]]]:
    """Orders the work into passes.

    Args:
        once: Nodes of the constant beginning, in order; they are done once, in passes of their own.
        nodes: The other nodes, in order.
        shape: How the state lies in memory.

    Returns:
        Passes for the beginning, and for the others: one at least.
    """
    first = _tiles([(node, node.qubits) for node in once], shape)
    rest = _tiles([(node, node.qubits) for node in nodes], shape, first[-1][0] if first else None)
    tiles = _filled([*first, *(rest or [(set(), [])])], shape)
    layout = _first_layout([node.qubits for node in (*once, *nodes)], tiles, len(first), shape)
    passes = _with_layouts(tiles, layout)
    return passes[: len(first)], passes[len(first) :]


Tile = tuple[set[int], list[N]]
Qubits: TypeAlias = int
"""A set of qubits, as bits: the search looks at all nodes hundreds of times."""


def _tiles(nodes: Work[N], shape: Shape, before: set[int] | None = None) -> list[Tile[N]]:
    """Searches for few sets of qubits in which all nodes can be done; deterministic."""
    if not nodes:
        return []
    if shape.is_whole:
        return [(set(range(shape.qubits)), [node for node, _ in nodes])]
    needed = -(-len({qubit for _, edge in nodes for qubit in edge}) // shape.tile_qubits)
    work = [(node, _as_bits(edge)) for node, edge in nodes]
    lanes_of = None if before is None else _as_bits(before)
    best: list[Tile[N]] = []
    for seed in range(_RESTARTS):
        attempt = _attempt(work, shape, lanes_of, random.Random(seed))
        best = attempt if seed == 0 or len(attempt) < len(best) else best
        if len(best) <= needed:
            break
    return best


def _as_bits(qubits: Iterable[int]) -> Qubits:
    return sum(1 << qubit for qubit in qubits)


def _attempt(
    work: Sequence[tuple[N, Qubits]], shape: Shape, before: Qubits | None, chance: random.Random
) -> list[Tile[N]]:
    tiles: list[Tile[N]] = []
    while work:
        edges = [edge for _, edge in work]
        tries = [_grown(edges, shape, before, chance) for _ in range(_TRIES)]
        chosen = max(tries, key=lambda tile: len(_inside(edges, tile)))
        done = _inside(edges, chosen)
        tiles.append(({qubit for qubit in range(shape.qubits) if chosen >> qubit & 1}, [work[k][0] for k in done]))
        waiting = set(range(len(work))).difference(done)
        work, before = [work[k] for k in sorted(waiting)], chosen
    return tiles


def _inside(edges: Sequence[Qubits], tile: Qubits) -> list[int]:
    """Returns the places of the nodes that can be done within a tile; the others have to wait."""
    closed = ~tile
    done = []
    for place, edge in enumerate(edges):
        if edge & closed:
            closed |= edge
            if not ~closed:
                break
        else:
            done.append(place)
    return done


def _grown(edges: Sequence[Qubits], shape: Shape, before: Qubits | None, chance: random.Random) -> Qubits:
    """Grows a tile from nothing by the node in front that takes the fewest new qubits, until it is full."""
    tile = 0
    everything = (1 << shape.qubits) - 1
    while True:
        options = [edge for edge in _front(edges, tile, everything) if _room(tile | edge, shape, before)]
        if not options:
            return tile | _shared(tile, shape, before)
        new = [(edge & ~tile).bit_count() + 0.9 * chance.random() for edge in options]
        tile |= options[new.index(min(new))]


def _front(edges: Sequence[Qubits], tile: Qubits, everything: Qubits) -> list[Qubits]:
    """Returns the nodes that no other has to come before, once those within the tile are done."""
    waits = 0
    front = []
    for edge in edges:
        if not edge & waits:
            if not edge & ~tile:
                continue
            front.append(edge)
        waits |= edge
        if waits == everything:
            break
    return front


def _room(tile: Qubits, shape: Shape, before: Qubits | None) -> bool:
    return tile.bit_count() + _shared(tile, shape, before).bit_count() <= shape.tile_qubits


def _shared(tile: Qubits, shape: Shape, before: Qubits | None) -> Qubits:
    """Returns the qubits that a tile must take from the tile before, so that the lanes are in both."""
    if before is None:
        return 0
    spare, shared = before & ~tile, 0
    for _ in range(shape.lane_bits - (tile & before).bit_count()):
        shared |= spare & -spare
        spare &= spare - 1
    return shared


def _filled(tiles: Sequence[Tile[N]], shape: Shape) -> list[Tile[N]]:
    """Fills every tile up, with qubits of its neighbours first."""
    filled: list[Tile[N]] = []
    for index, (tile, nodes) in enumerate(tiles):
        near = set().union(*(other for other, _ in tiles[max(index - 1, 0) : index + 2]))
        spare = sorted(set(range(shape.qubits)) - tile, key=lambda qubit: (qubit not in near, qubit))
        filled.append((tile | set(spare[: shape.tile_qubits - len(tile)]), nodes))
    return filled


def _first_layout(edges: Sequence[Edge], tiles: Sequence[Tile[N]], once: int, shape: Shape) -> Layout:
    """Puts qubits into lanes that many passes have and few nodes act on.

    The others have low bits if most passes have them, or the first ones, so that tiles lie in memory in long runs. The
    passes that are done `once` do not count for this.
    """
    sets = [tile for tile, _ in tiles]
    longest = sorted(tiles[0][0], key=lambda qubit: (-_stay(qubit, sets), qubit))
    enough = _stay(longest[shape.lane_bits - 1], sets) if shape.lane_bits else 0
    candidates = [qubit for qubit in longest if _stay(qubit, sets) >= enough]
    effort = _Effort.of(edges)
    lanes = min(islice(combinations(candidates, shape.lane_bits), _MANY), key=effort.with_lanes)
    others = [qubit for qubit in range(shape.qubits) if qubit not in lanes]
    absent = {qubit: [qubit not in tile for tile, _ in tiles[once:]] for qubit in others}
    others.sort(key=lambda qubit: (sum(absent[qubit]), absent[qubit], qubit))
    return Layout(tuple(lanes), tuple(others))


class _Effort(NamedTuple):
    """How many nodes act on each qubit, and on each two."""

    on_one: Counter[int]
    on_both: Counter[Edge]

    @classmethod
    def of(cls, edges: Sequence[Edge]) -> Self:
        return cls(Counter(chain.from_iterable(edges)), Counter((min(edge), max(edge)) for edge in edges))

    def with_lanes(self, lanes: tuple[int, ...]) -> int:
        """Shuffles that nodes on qubits in lanes cost, relative to those of a node with one qubit there."""
        both = sum(self.on_both[min(edge), max(edge)] for edge in combinations(lanes, 2))
        return sum(self.on_one[qubit] for qubit in lanes) + _BOTH_MORE * both


def _with_layouts(tiles: Sequence[Tile[N]], layout: Layout) -> list[Pass[N]]:
    passes: list[Pass[N]] = []
    for index, (tile, nodes) in enumerate(tiles):
        bits = tuple(bit for bit, qubit in enumerate(layout.vector) if qubit in tile)
        swaps, following = _swaps(layout, tile, [other for other, _ in tiles[index + 1 :]])
        passes.append(Pass(tuple(nodes), layout, bits, swaps))
        layout = following
    return passes


def _swaps(layout: Layout, tile: set[int], following: Sequence[set[int]]) -> tuple[tuple[tuple[int, int], ...], Layout]:
    """Moves qubits out of the lanes that the next tile does not have; returns the layout after it, too."""
    swaps: list[tuple[int, int]] = []
    moved = [lane for lane, qubit in enumerate(layout.lanes) if following and qubit not in following[0]]
    for lane in moved:
        candidates = [other for other in layout.vector if other in tile & following[0]]
        best = max(candidates, key=lambda other: (_stay(other, following), -other))
        bit = layout.vector.index(best)
        swaps.append((lane, bit))
        layout = layout.swapped(lane, bit)
    return tuple(swaps), layout


def _stay(qubit: int, following: Sequence[set[int]]) -> int:
    """How many of the tiles have a qubit before the first that has not."""
    return next((index for index, tile in enumerate(following) if qubit not in tile), len(following))
