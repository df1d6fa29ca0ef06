"""The program of a plan: the integers and constants that the native engine reads (`native/program.c`).

    header     qubits in lanes (0 or 1), lane bits, vector bits, tile bits; how many shared angles, example angles,
               gates, kinds, heads, blocks, pairs, terms, strings, readouts, weights, inputs, passes, passes of the
               beginning
    angle      place of its constant, how many symbols; for each, which (weights, then inputs) and place of its factor
    gate       components, angle or -1, place of its constants: λ and the 4x4 projector of each component
    kind       gates, then which
    head       its kind, gates, then which
    block      kind, head or -1
    pair       kind of the block that is looked through, or -1
    term       pair, readout, place of its 4x4 observable
    string     readout, phase, flipped and signed vector bits, flipped and signed lane bits, place of its factor
    place of the readouts' identity terms
    pass       operations, bits of the tile; then each operation:
               code, which block or pair, bit and lane of its first qubit, bit and lane of its second, flags

4x4 matrices are 16 real parts, then 16 imaginary parts. Angles are in half turns: those that all examples share come
first, then those of each example. Programs for different vectors share their constants, and each is there once.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Self

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block
from qtj_simulator.fused.gates import Angle, Gate
from qtj_simulator.fused.observables import Pair, Term
from qtj_simulator.fused.plan import BlockNode, Node, Plan
from qtj_simulator.fused.schedule import Layout, Pass

__all__ = ["CompiledPlan", "compile_plans", "embedded", "merged", "packed"]

_VERSION = 2
"""A change of the meaning of a program needs another version, here and in `native/file.c`."""
_APPLY, _DENSITY, _SWAP = range(3)
_NO_UNAPPLY, _NO_GRADIENT, _TOGETHER, _NEXT_BUFFER = 1, 2, 4, 8
_BOTH = tuple(cirq.LineQubit.range(2))
_IDENTITY = np.eye(2)
_SWAPPED = np.ix_([0, 2, 1, 3], [0, 2, 1, 3])

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """What the native engine needs.

    Attributes:
        constants: float64, of all plans.
        integers: int32, of each plan; see the module's docstring.
    """

    constants: Floats
    integers: tuple[NDArray[np.int32], ...]


@dataclass(slots=True)
class _Constants:
    """The rows of constants of a plan, each once."""

    places: dict[tuple[float, ...], int] = field(default_factory=dict)
    numbers: list[float] = field(default_factory=list)

    def place(self, values: Iterable[float]) -> int:
        row = tuple(map(float, values))
        if row not in self.places:
            self.places[row] = len(self.numbers)
            self.numbers.extend(row)
        return self.places[row]


@dataclass(slots=True)
class _Angles:
    """The angles of a plan, each once."""

    found: dict[Angle, int] = field(default_factory=dict)

    def index(self, angle: Angle | None) -> int:
        return -1 if angle is None else self.found.setdefault(angle, len(self.found))

    def table(self, symbols: Mapping[str, int], constants: _Constants) -> list[list[int]]:
        return [
            [
                constants.place([angle.constant]),
                len(angle.slopes),
                *chain.from_iterable((symbols[name], constants.place([slope])) for name, slope in angle.slopes),
            ]
            for angle in self.found
        ]


@dataclass(slots=True)
class _Writer:
    """Collects tables; equal gates and equal kinds are written once."""

    constants: _Constants
    gates: list[list[int]] = field(default_factory=list)
    kinds: list[list[int]] = field(default_factory=list)
    heads: list[list[int]] = field(default_factory=list)
    shared: _Angles = field(default_factory=_Angles)
    example: _Angles = field(default_factory=_Angles)
    known_spaces: dict[object, int] = field(default_factory=dict)
    known_gates: dict[object, int] = field(default_factory=dict)
    known_kinds: dict[tuple[int, ...], int] = field(default_factory=dict)

    def matrix(self, matrix: NDArray[np.complex128]) -> int:
        return self.constants.place(_numbers(matrix))

    def gate(self, gate: Gate, positions: tuple[int, ...], angles: _Angles) -> int:
        angle = angles.index(gate.angle)
        spaces = (gate.eigenvalues, gate.projectors.tobytes(), positions)
        key = (spaces, angle, angles is self.shared)
        if key not in self.known_gates:
            if spaces not in self.known_spaces:
                self.known_spaces[spaces] = self.constants.place(_spaces(gate, positions))
            self.gates.append([len(gate.eigenvalues), angle, self.known_spaces[spaces]])
            self.known_gates[key] = len(self.gates) - 1
        return self.known_gates[key]

    def kind(self, tail: Block) -> int:
        gates = tuple(self.gate(gate, positions, self.shared) for gate, positions in merged(tail))
        if gates not in self.known_kinds:
            self.kinds.append([len(gates), *gates])
            self.known_kinds[gates] = len(self.kinds) - 1
        return self.known_kinds[gates]

    def block(self, block: Block, inputs: frozenset[str]) -> list[int]:
        head, tail = block.split(inputs)
        kind = self.kind(tail)
        if not head.gates:
            return [kind, -1]
        gates = [self.gate(gate, positions, self.example) for gate, positions in merged(head)]
        self.heads.append([kind, len(gates), *gates])
        return [kind, len(self.heads) - 1]


def _spaces(gate: Gate, positions: tuple[int, ...]) -> Iterator[float]:
    for value, projector in zip(gate.eigenvalues, gate.projectors, strict=True):
        yield value
        yield from _numbers(embedded(projector, positions))


def _numbers(matrix: NDArray[np.complex128]) -> list[float]:
    numbers: list[float] = np.concatenate([matrix.real, matrix.imag], axis=None).tolist()
    return numbers


def embedded(matrix: NDArray[np.complex128], positions: tuple[int, ...]) -> NDArray[np.complex128]:
    """The 4x4 matrix of a gate that acts at these positions of a block's qubits."""
    if len(positions) == 1:
        one, other = (matrix, _IDENTITY) if positions == (0,) else (_IDENTITY, matrix)
        return (one[:, np.newaxis, :, np.newaxis] * other[np.newaxis, :, np.newaxis, :]).reshape(4, 4)
    return matrix if positions == (0, 1) else matrix[_SWAPPED]


def merged(block: Block) -> Iterator[tuple[Gate, tuple[int, ...]]]:
    """Multiplies fixed gates that follow each other."""
    fixed: NDArray[np.complex128] | None = None
    for gate, positions in block.gates:
        if gate.angle is None:
            matrix = embedded(gate.projectors[0], positions)
            fixed = matrix if fixed is None else matrix @ fixed
            continue
        if fixed is not None:
            yield _fixed(fixed), (0, 1)
            fixed = None
        yield gate, positions
    if fixed is not None:
        yield _fixed(fixed), (0, 1)


def _fixed(matrix: NDArray[np.complex128]) -> Gate:
    """A gate without an angle on both qubits of a block. A kind does not record the qubits."""
    return Gate(_BOTH, (0.0,), matrix[np.newaxis], None)


def compile_plans(plans: Iterable[Plan]) -> CompiledPlan:
    """Writes the programs of plans of one circuit."""
    constants, integers = _Constants(), list[NDArray[np.int32]]()
    known: dict[object, _Tables] = {}
    for plan in plans:
        blocks = tuple(node.block for node in (*plan.beginning, *plan.blocks))
        what = blocks, plan.observables.pairs
        if what not in known:
            known[what] = _Tables.of(blocks, plan, constants)
        integers.append(_integers(plan, constants, known[what]))
    return CompiledPlan(np.array(constants.numbers, np.float64), tuple(integers))


class _Tables(NamedTuple):
    """What plans of the same blocks have in common, whatever the shape of the state."""

    writer: _Writer
    blocks: list[list[int]]
    pairs: list[list[int]]
    terms: list[list[int]]

    @classmethod
    def of(cls, blocks: Sequence[Block], plan: Plan, constants: _Constants) -> Self:
        writer, inputs, pairs = _Writer(constants), frozenset(plan.inputs), plan.observables.pairs
        return cls(
            writer,
            [writer.block(block, inputs) for block in blocks],
            [[writer.kind(pair.block) if pair.block else -1] for pair in pairs],
            [
                [index, readout, writer.matrix(matrix)]
                for index, pair in enumerate(pairs)
                for readout, matrix in pair.matrices()
            ],
        )


def _integers(plan: Plan, constants: _Constants, of_blocks: _Tables) -> NDArray[np.int32]:
    writer, observables = of_blocks.writer, plan.observables
    strings = [_string(term, plan.passes[-1].layout, constants) for term in observables.strings]
    symbols = {name: number for number, name in enumerate((*plan.weights, *plan.inputs))}
    angles = [*writer.shared.table(symbols, constants), *writer.example.table(symbols, constants)]
    offsets = constants.place(observables.offsets)
    passes = _passes(plan)
    tables = [writer.gates, writer.kinds, writer.heads, *of_blocks[1:], strings]
    shape = plan.shape
    header = [
        int(shape.lane_bits > 0), shape.lane_bits, shape.vector_bits, shape.tile_bits,
        len(writer.shared.found), len(writer.example.found), *map(len, tables), len(observables.offsets),
        len(plan.weights), len(plan.inputs), len(passes), len(plan.once),
    ]  # fmt: skip
    rows = [header, *angles, *chain.from_iterable(tables), [offsets], *passes]
    return np.array(list(chain.from_iterable(rows)), np.int64).astype(np.uint32).view(np.int32)


def _string(term: Term, layout: Layout, constants: _Constants) -> list[int]:
    """A Pauli string as bit masks: X and Y flip, Y and Z give signs, each Y a phase i."""
    flips = [qubit for qubit, pauli in term.paulis.items() if pauli in "XY"]
    signs = [qubit for qubit, pauli in term.paulis.items() if pauli in "YZ"]
    phase = sum(pauli == "Y" for pauli in term.paulis.values()) % 4
    masks = [_mask(qubits, place) for place in (layout.vector, layout.lanes) for qubits in (flips, signs)]
    return [term.readout, phase, *masks, constants.place([term.factor])]


def _mask(qubits: Iterable[int], place: Sequence[int]) -> int:
    return sum(1 << place.index(qubit) for qubit in qubits if qubit in place)


def _passes(plan: Plan) -> list[list[int]]:
    """Writes the passes; they name blocks and pairs by their place in their table."""
    places: dict[Node, int] = {node: place for place, node in enumerate((*plan.beginning, *plan.blocks))}
    places |= {pair: place for place, pair in enumerate(plan.observables.pairs)}
    layers = _first_of_layers(plan.blocks)
    return [_pass(each, places, layers) for each in (*plan.once, *plan.passes)]


def _first_of_layers(blocks: Sequence[BlockNode]) -> frozenset[Node]:
    """Finds the first block of each layer that is taken back together."""
    return frozenset({node.layer: node for node in reversed(blocks) if node.layer is not None}.values())


def _pass(each: Pass[Node], places: Mapping[Node, int], layers: frozenset[Node]) -> list[int]:
    bits, lanes = {qubit: bit for bit, qubit in enumerate(each.tile_qubits)}, each.layout.lanes
    operations = [
        _operation(node, places[node], _position(node.qubits, bits, lanes), starts_layer=node in layers)
        for node in each.nodes
    ]
    operations += [_swap(each, *pair) for pair in each.swaps]
    tile = sum(1 << bit for bit in each.tile)
    return [len(operations), tile, *chain.from_iterable(operations)]


def _operation(node: Node, place: int, where: tuple[int, int, int, int], *, starts_layer: bool) -> list[int]:
    if isinstance(node, Pair):
        return [_DENSITY, place, *where, 0]
    flags = _NO_UNAPPLY * node.is_first | _NO_GRADIENT * node.is_constant
    flags |= _TOGETHER * (node.layer is not None) | _NEXT_BUFFER * starts_layer
    return [_APPLY, place, *where, flags]


def _position(qubits: tuple[int, int], tile: Mapping[int, int], lanes: Sequence[int]) -> tuple[int, int, int, int]:
    """Bit in the tile and lane of two qubits. A qubit in a lane (not -1) uses a bit that is otherwise unused."""
    first, second = own = tile.get(qubits[0]), tile.get(qubits[1])
    if first is not None and second is not None:
        return first, -1, second, -1
    free = iter(bit for bit in range(len(tile) - 1, -1, -1) if bit not in own)
    bits = [next(free) if bit is None else bit for bit in own]
    of_lanes = [lanes.index(qubit) if bit is None else -1 for qubit, bit in zip(qubits, own, strict=True)]
    return bits[0], of_lanes[0], bits[1], of_lanes[1]


def _swap(each: Pass[Node], lane: int, bit: int) -> list[int]:
    return [_SWAP, 0, each.tile.index(bit), lane, 0, -1, 0]


def packed(program: CompiledPlan) -> bytes:
    """Returns the bytes of a program, as graphs hold them and the native library reads them (`native/file.c`).

    Little-endian:

        "QTJP", version, CRC-32 of all that follows: each 4 bytes
        how many constants, how many programs, how many integers each program has: each 4 bytes
        constants: 8 bytes each
        the integers of each program: 4 bytes each
    """
    sizes = [program.constants.size, len(program.integers), *(each.size for each in program.integers)]
    numbers = [program.constants.astype("<f8"), *(each.astype("<i4") for each in program.integers)]
    rest = struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(each.tobytes() for each in numbers)
    return struct.pack("<4s2I", b"QTJP", _VERSION, zlib.crc32(rest)) + rest
