"""Nodes: the operations of a sweep, in order. A block is applied, a pair is measured.

Each node is in the first layer after those of the nodes before it on its qubits:

    layer 0   A on qubits 0, 1   B on qubits 2, 3   C on qubits 4, 5   first on both qubits: need not be taken back
    layer 1           D on qubits 1, 2   E on qubits 3, 4              taken back from lambda alone, if the state before
                                                                       both of them is kept
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qtj_simulator.fused.blocks import Block
from qtj_simulator.fused.observables import Pair
from qtj_simulator.fused.parity import preserves_parity

__all__ = ["BlockNode", "Node", "block_nodes", "by_layers"]

_WORTH_KEEPING = 2
"""From this number of blocks in a layer on, keeping the state before them costs less than undoing them."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockNode:
    """A block that is applied. Nodes are compared by identity.

    Attributes:
        block: The block.
        is_first: Whether no other block acts on either qubit before, so that it does not have to be undone.
        is_even: Whether it preserves parity, and so costs half.
        layer: The layer it is taken back with from lambda alone, since the state before the layer is kept; None if it
            is taken back from psi and lambda.
    """

    block: Block
    is_first: bool = False
    is_even: bool = False
    layer: int | None = None

    @property
    def qubits(self) -> tuple[int, int]:
        """The two qubits it acts on."""
        return self.block.qubits

    @property
    def is_constant(self) -> bool:
        """Whether no symbol appears in it, so that it has no gradient."""
        return self.block.is_constant


Node: TypeAlias = BlockNode | Pair


def block_nodes(blocks: Sequence[Block], inputs: frozenset[str], *, keep_layers: bool) -> list[BlockNode]:
    """Returns nodes with what the sweep back must know about each block.

    Args:
        blocks: The blocks that every sweep applies, in order.
        inputs: The names of the symbols that differ between examples.
        keep_layers: Whether the state before blocks that act side by side may be kept.

    Returns:
        A node for each block, in the same order.
    """
    depths = _depths(blocks)
    wide = {depth for depth, many in Counter(depths).items() if depth and many >= _WORTH_KEEPING and keep_layers}
    return [
        BlockNode(
            block,
            is_first=depth == 0,
            is_even=preserves_parity(block, inputs),
            layer=depth if depth in wide else None,
        )
        for block, depth in zip(blocks, depths, strict=True)
    ]


def by_layers(nodes: Sequence[Node]) -> list[Node]:
    """Orders nodes by layers. In each layer, blocks that are undone are last, so that they follow each other."""

    def is_taken_back(node: Node) -> bool:
        return isinstance(node, BlockNode) and not node.is_first

    depths = dict(zip(nodes, _depths(nodes), strict=True))
    return sorted(nodes, key=lambda node: (depths[node], is_taken_back(node)))


def _depths(nodes: Iterable[Block | Node]) -> list[int]:
    """Finds the layer of each node."""
    reached: dict[int, int] = {}
    depths = []
    for node in nodes:
        depth = max(reached.get(qubit, 0) for qubit in node.qubits)
        reached |= dict.fromkeys(node.qubits, depth + 1)
        depths.append(depth)
    return depths
