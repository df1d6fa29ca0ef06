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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Protocol, TypeVar

from qtj_trainer.simulate.fused.shape import Shape

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

_SHUFFLES = (0, 1, 3)
"""Of nodes with none, one and two qubits in the lanes: 0, 8 and 32 to apply a block to four vectors, mostly hidden. (A
block with both of them there needs 8 if it preserves parity, which is not considered here.)"""
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


def _tiles(nodes: Work[N], shape: Shape, before: set[int] | None = None) -> list[Tile[N]]:
    """Searches for few sets of qubits in which all nodes can be done; deterministic."""
    if not nodes:
        return []
    if shape.is_whole:
        return [(set(range(shape.qubits)), [node for node, _ in nodes])]
    needed = -(-len({qubit for _, edge in nodes for qubit in edge}) // shape.tile_qubits)
    best: list[Tile[N]] = []
    for seed in range(_RESTARTS):
        attempt = _attempt(nodes, shape, before, random.Random(seed))  # noqa: S311
        best = attempt if seed == 0 or len(attempt) < len(best) else best
        if len(best) <= needed:
            break
    return best


def _attempt(nodes: Work[N], shape: Shape, before: set[int] | None, chance: random.Random) -> list[Tile[N]]:
    tiles: list[Tile[N]] = []
    while nodes:
        tries = [_grown(nodes, shape, before, chance) for _ in range(_TRIES)]
        chosen = max(tries, key=lambda tile: len(_inside(nodes, tile)[0]))
        done, nodes = _inside(nodes, chosen)
        tiles.append((chosen, [node for node, _ in done]))
        before = chosen
    return tiles


def _inside(nodes: Work[N], tile: set[int]) -> tuple[Work[N], Work[N]]:
    """Divides nodes into those that can be done within a tile, and those that have to wait."""
    waits: set[int] = set()
    done, rest = [], []
    for node in nodes:
        edge = node[1]
        if tile.issuperset(edge) and waits.isdisjoint(edge):
            done.append(node)
        else:
            waits.update(edge)
            rest.append(node)
    return done, rest


def _grown(nodes: Work[N], shape: Shape, before: set[int] | None, chance: random.Random) -> set[int]:
    """Grows a tile from nothing by the node in front that takes the fewest new qubits, until it is full."""
    tile: set[int] = set()
    while True:
        _, nodes = _inside(nodes, tile)
        options = [edge for edge in _front(nodes) if _room(tile.union(edge), shape, before)]
        if not options:
            return tile | _shared(tile, shape, before)
        tile |= set(min(options, key=lambda edge: len(set(edge) - tile) + 0.9 * chance.random()))


def _front(nodes: Work[N]) -> list[Edge]:
    taken: set[int] = set()
    front = []
    for _, edge in nodes:
        if taken.isdisjoint(edge):
            front.append(edge)
        taken.update(edge)
    return front


def _room(tile: set[int], shape: Shape, before: set[int] | None) -> bool:
    return len(tile) + len(_shared(tile, shape, before)) <= shape.tile_qubits


def _shared(tile: set[int], shape: Shape, before: set[int] | None) -> set[int]:
    """Returns the qubits that a tile must take from the tile before, so that the lanes are in both."""
    if before is None:
        return set()
    missing = shape.lane_bits - len(tile & before)
    return set(sorted(before - tile)[: max(missing, 0)])


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

    def stays(qubit: int) -> int:
        return next((index for index, (tile, _) in enumerate(tiles) if qubit not in tile), len(tiles))

    longest = sorted(tiles[0][0], key=lambda qubit: (-stays(qubit), qubit))
    enough = stays(longest[shape.lane_bits - 1]) if shape.lane_bits else 0
    candidates = [qubit for qubit in longest if stays(qubit) >= enough]
    lanes = min(list(combinations(candidates, shape.lane_bits))[:_MANY], key=lambda lanes: _effort(edges, lanes))
    others = [qubit for qubit in range(shape.qubits) if qubit not in lanes]
    absent = {qubit: [qubit not in tile for tile, _ in tiles[once:]] for qubit in others}
    others.sort(key=lambda qubit: (sum(absent[qubit]), absent[qubit], qubit))
    return Layout(tuple(lanes), tuple(others))


def _effort(edges: Sequence[Edge], lanes: tuple[int, ...]) -> int:
    """Shuffles that nodes on qubits in lanes cost, relative to those of a node with one qubit there."""
    return sum(_SHUFFLES[(first in lanes) + (second in lanes)] for first, second in edges)


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
    return next((index for index, tile in enumerate(following) if qubit not in tile), len(following))
