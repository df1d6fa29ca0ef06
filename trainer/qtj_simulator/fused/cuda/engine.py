"""Values and gradients of one plan on a card."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_contract.quantities import in_words
from qtj_simulator.fused.cuda.driver import Call, Card, Memory
from qtj_simulator.fused.cuda.tables import PassAt, tables
from qtj_simulator.fused.plan import FusedCircuit, Plan
from qtj_simulator.fused.program import compile_plans
from qtj_simulator.fused.shape import Shape

__all__ = ["CudaEngine", "plan_for_card"]

Array = NDArray[Any]
Floats = NDArray[np.float64]

_TILE_BITS = {32: 11, 64: 10}
"""By the bits of a number: psi and lambda of a tile take 32 KiB of shared memory."""
_THREADS, _WARP = 128, 32
_SMALL, _MANY = 64, 256
"""Threads of a block where each of them works for itself, and of one that adds up all examples."""
_MOST_BLOCKS = 1 << 20
_BLOCKS_EACH = 8
"""Blocks of threads for each multiprocessor: enough to hide how long memory takes."""
_PARTS = 8 * 16
"""PARTS of `native/sweeps.h`, for each of the 16 sums."""
_USED = 0.9
"""The part of the free memory that a call takes at most."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Room:
    """The memory of a card that an engine holds, by name, taken again only where it has to grow.

    Attributes:
        card: Whose memory it is.
        by_name: What is held.
    """

    card: Card
    by_name: dict[str, Memory] = field(default_factory=dict)

    def take(self, name: str, size: int) -> Memory:
        """Returns memory of at least this size; what it held is lost where it grows."""
        if name not in self.by_name or self._held(name) < size:
            self.by_name.pop(name, None)
            self.by_name[name] = Memory(self.card, size)
        return self.by_name[name]

    def reserve(self, sizes: Callable[[int], dict[str, int]], most: int) -> int:
        """Takes memory for as many examples as there is room for.

        Args:
            sizes: The memory for so many examples, by name.
            most: How many there are.

        Returns:
            For how many it was enough: one at least.

        Raises:
            MemoryError: If it is not enough for one.
        """
        one = sizes(1)
        free = self.card.free + sum(map(self._held, one))
        count = max(1, min(most, int(free * _USED) // sum(one.values())))
        while True:
            try:
                self._grow(sizes(count))
            except MemoryError:
                if count == 1:
                    raise
                count = -(-count // 2)
                _log.warning("the memory of the GPU is full: it now computes %d examples at a time", count)
            else:
                return count

    def _grow(self, sizes: dict[str, int]) -> None:
        if any(self._held(name) < size for name, size in sizes.items()):
            for name in sizes:  # so that what is old and what is new are not held at the same time
                self.by_name.pop(name, None)
        for name, size in sizes.items():
            self.take(name, size)

    def _held(self, name: str) -> int:
        known = self.by_name.get(name)
        return known.size if known else 0


def plan_for_card(circuit: FusedCircuit, *, bits: int = 32, tile_bits: int | None = None) -> Plan:
    """Plans a circuit for a card: all qubits in the index of an amplitude, and tiles that fit into shared memory.

    Args:
        circuit: The circuit.
        bits: The bits of a real number: 32 or 64.
        tile_bits: Qubits of a tile; None chooses.
    """
    tile = _TILE_BITS[bits] if tile_bits is None else tile_bits
    return circuit.in_shape(Shape(0, circuit.qubits, min(circuit.qubits, tile)))


class CudaEngine:
    """A plan that is ready to run on a card. Any number of threads may call it, and one call runs at a time.

    A batch runs in parts: as many examples at a time as the card has room for. Memory for n qubits and states of
    S = 8 · 2^n (double precision: 16 · 2^n): S for the beginning, and 2 S for each example of a part (values: S).
    """

    def __init__(
        self, plan: Plan, card: Card, *, bits: int = 32, threads: int | None = None, part: int | None = None
    ) -> None:
        """Prepares the engine.

        Args:
            plan: Made by `plan_for_card`.
            card: Where it runs.
            bits: The bits of a real number: 32 or 64.
            threads: Threads of a block that sweeps over states; None chooses.
            part: The most examples at a time; None for as many as there is room for.

        Raises:
            MemoryError: If the card has not enough memory for the beginning.
            UnusableError: If the card fails.
        """
        self._card, self._bits, self._most = card, bits, part
        self._threads = threads or min(_THREADS, max(_WARP, 1 << plan.shape.tile_bits - 2))
        self._many, self._each_has = len(plan.weights), len(plan.inputs)
        program = compile_plans([plan])
        self._tables = tables(program.integers[0], program.constants)
        self._call = call = Call(**self._tables.sizes)
        call.width = 16 * (call.heads + call.kinds + call.pairs) + call.strings
        self._room, self._lock = _Room(card), Lock()
        self._state = 2 * bits // 8 << call.qubits
        card.enter()
        self._upload(program.integers[0], program.constants)
        self._begin()

    @property
    def needed(self) -> int:
        """Bytes that the gradient of one example takes, beside what it holds already."""
        return sum(self._sizes(1, is_gradient=True).values())

    def values(self, inputs: Array, weights: Array) -> Floats:
        """Computes expectation values; arguments and errors: `Engine.values`."""
        rows, shared = self._symbols(inputs, weights)
        values = np.empty((len(rows), self._call.readouts))
        with self._lock:
            self._start(shared)
            for part in self._parts(len(rows), is_gradient=False):
                self._write_symbols(rows[part], shared)
                self._forward()
                self._each("readouts", self._call.examples * self._call.readouts)
                values[part] = self._read("values", self._call.examples, self._call.readouts)
        return values

    def gradients(self, inputs: Array, weights: Array, upstream: Array) -> tuple[Floats, Floats]:
        """Computes gradients of sum(upstream * values); arguments and errors: `Engine.gradients`."""
        rows, shared = self._symbols(inputs, weights)
        if upstream.shape != (len(rows), self._call.readouts):
            raise ValueError(f"upstream is {upstream.shape}, not (batch, {self._call.readouts})")
        by_example = np.empty((len(rows), self._call.example_angles))
        with self._lock:
            self._start(shared)
            for part in self._parts(len(rows), is_gradient=True):
                self._write_symbols(rows[part], shared)
                self._write("upstream", np.ascontiguousarray(upstream[part], np.float64))
                self._forward()
                self._backward()
                by_example[part] = self._read("example_gradient", self._call.examples, self._call.example_angles)
            by_shared = self._shared_gradient()
        slopes = self._tables.example.slopes(by_example, self._many + self._each_has)
        by_weights = self._tables.shared.slopes(by_shared, self._many)[0] + slopes[:, : self._many].sum(axis=0)
        return slopes[:, self._many :], by_weights

    # ---- memory ----

    def _upload(self, integers: NDArray[np.int32], constants: Floats) -> None:
        found, call = self._tables, self._call
        for name in ("kind_at", "head_at", "kind_slot", "head_slot"):
            self._write(name, getattr(found, name))
        self._write("program", integers)
        self._write("constants", constants)
        self._inside = [self._kept(each.inside) for each in (*found.beginning, *found.passes)]
        numbers, scalar = np.dtype(float).itemsize, self._bits // 8
        for name, count in {
            "shared": call.shared_angles, "unitary": 32 * call.kinds, "pulled": 32 * call.terms,
            "totals": 16 * (call.kinds + call.terms), "kind_slopes": call.kind_slots,
            "shared_gradient": call.shared_angles,
        }.items():  # fmt: skip
            self._take(name, numbers * count)
        self._take("coefficients", scalar * 32 * call.kinds)

    def _kept(self, array: NDArray[Any]) -> Memory:
        memory = Memory(self._card, array.nbytes)
        memory.write(array)
        return memory

    def _take(self, name: str, size: int) -> Memory:
        memory = self._room.take(name, size)
        setattr(self._call, name, memory.address)
        return memory

    def _write(self, name: str, array: NDArray[Any]) -> None:
        self._take(name, array.nbytes).write(array)

    def _read(self, name: str, *shape: int) -> Floats:
        return self._room.by_name[name].read(*shape)

    def _sizes(self, examples: int, *, is_gradient: bool) -> dict[str, int]:
        """The memory for so many examples."""
        call, scalar = self._call, self._bits // 8
        sizes = {
            "psi": examples * self._state, "sums": 8 * examples * self._slices(examples) * call.width,
            "example": 8 * examples * call.example_angles, "head_unitary": scalar * examples * 32 * call.heads,
        }  # fmt: skip
        if not is_gradient:
            return sizes | {"values": 8 * examples * call.readouts}
        return sizes | {
            "lambda_": examples * self._state, "upstream": 8 * examples * call.readouts,
            "observable": scalar * examples * 32 * call.pairs, "head_slopes": 8 * examples * call.head_slots,
            "example_gradient": 8 * examples * call.example_angles,
        }  # fmt: skip

    def _slices(self, examples: int) -> int:
        """So many blocks of threads share the tiles of an example."""
        enough = -(-_BLOCKS_EACH * self._card.multiprocessors // examples)
        return min(enough, 1 << int(self._call.qubits - self._call.tile_bits))

    # ---- a call ----

    def _symbols(self, inputs: Array, weights: Array) -> tuple[Floats, Floats]:
        if inputs.shape[1:] != (self._each_has,) or weights.shape != (self._many,):
            expected = f"(batch, {self._each_has}) and ({self._many},)"
            raise ValueError(f"inputs are {inputs.shape} and weights {weights.shape}, not {expected}")
        return np.ascontiguousarray(inputs, np.float64), np.ascontiguousarray(weights, np.float64)

    def _start(self, weights: Floats) -> None:
        """Makes what all examples share."""
        self._card.enter()
        self._room.by_name["totals"].clear()
        self._write("shared", self._tables.shared.at(weights[np.newaxis]))
        self._each("prepare_kinds", self._call.kinds)
        self._each("pull_terms", self._call.terms)

    def _parts(self, batch: int, *, is_gradient: bool) -> list[slice]:
        """Divides a batch into parts that the card has room for, and takes their memory."""
        if not batch:
            return []
        sizes = partial(self._sizes, is_gradient=is_gradient)
        try:
            size = self._room.reserve(sizes, min(batch, self._most or batch))
        except MemoryError as problem:
            words = in_words(self._state)
            raise MemoryError(f"the memory of the GPU is full: a gradient needs three states of {words}") from problem
        self._call.slices = self._slices(size)
        for name in sizes(size):
            setattr(self._call, name, self._room.by_name[name].address)
        return [slice(at, min(at + size, batch)) for at in range(0, batch, size)]

    def _write_symbols(self, rows: Floats, weights: Floats) -> None:
        self._call.examples = len(rows)
        symbols = np.concatenate([np.tile(weights, (len(rows), 1)), rows], axis=1)
        self._write("example", self._tables.example.at(symbols))
        self._each("prepare_heads", len(rows) * self._call.heads)

    def _begin(self) -> None:
        """Computes the state after the constant beginning, from |0...0>."""
        base, call = self._take("psi", self._state), self._call
        base.clear()
        base.write(np.ones(1, np.float32 if self._bits == 32 else np.float64))
        self._start(np.zeros(self._many))
        call.examples, call.slices = 1, self._slices(1)
        for number, each in enumerate(self._tables.beginning):
            call.source, call.source_stride = call.psi, 0
            self._sweep("forward", each, number, tiles=1)
        self._base = base
        self._room.by_name.pop("psi")

    def _forward(self) -> None:
        call = self._call
        self._room.by_name["sums"].clear()
        call.source, call.source_stride = self._base.address, 0
        for number, each in enumerate(self._tables.passes, start=len(self._tables.beginning)):
            self._sweep("forward", each, number, tiles=1)
            call.source, call.source_stride = call.psi, 1 << call.qubits
        if call.strings:
            self._launch("string_values", (call.examples, call.slices), self._threads, 8 * self._threads)
        self._fold(16 * (call.heads + call.kinds), call.width)

    def _backward(self) -> None:
        call = self._call
        self._each("weigh_observables", call.examples * call.pairs)
        self._each("string_seeds", call.examples << call.qubits)
        first = len(self._tables.beginning)
        for number, each in reversed([*enumerate(self._tables.passes, start=first)]):
            self._sweep("backward", each, number, tiles=2)
        self._fold(0, 16 * (call.heads + call.kinds))
        self._launch("add_examples", (call.kinds + call.terms, 1), _MANY, 8 * _MANY)
        self._each("find_head_slopes", call.examples * call.heads)
        self._each("add_head_slopes", call.examples * call.example_angles)

    def _shared_gradient(self) -> Floats:
        self._each("find_kind_slopes", self._call.kinds)
        self._each("add_kind_slopes", self._call.shared_angles)
        return self._read("shared_gradient", 1, self._call.shared_angles)

    def _fold(self, start: int, end: int) -> None:
        self._call.fold_from, self._call.fold_to = start, end
        self._each("fold", self._call.examples * (end - start))

    # ---- kernels ----

    def _sweep(self, name: str, each: PassAt, number: int, *, tiles: int) -> None:
        call, scalar = self._call, self._bits // 8
        call.pass_at, call.inside = each.at, self._inside[number].address
        shared = tiles * (2 * scalar << call.tile_bits) + 8 * _PARTS + 16 * scalar * self._threads
        self._launch(name, (call.examples, call.slices), self._threads, shared)

    def _each(self, name: str, count: int) -> None:
        """Runs a kernel with a thread for each number."""
        self._launch(name, (min(-(-count // _SMALL), _MOST_BLOCKS), 1), _SMALL, 0)

    def _launch(self, name: str, grid: tuple[int, int], threads: int, shared: int) -> None:
        if grid[0]:
            self._card.launch(self._card.kernel(name, self._bits), grid, threads, shared, self._call)
