"""Values and gradients of one circuit, by the native engine."""

import ctypes
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from qtj_contract import statevector_bytes
from qtj_contract.quantities import in_words
from qtj_simulator.fused.library import library, pointers
from qtj_simulator.fused.plan import Plan
from qtj_simulator.fused.program import compile_plans, packed

__all__ = ["LAYERS", "Engine", "Opening", "lanes", "lent_memory", "shared_memory"]

Array = NDArray[Any]

_KEEP_BYTES = 64 << 20
_FROM_THE_BUDGET = ctypes.c_size_t(-1).value
LAYERS = count()
"""The numbers of the layers and engines of this process: two with one number share their states."""

_NO_MEMORY = b"out of memory"
"""How each sentence of the library begins that more memory would have prevented."""


def lanes(variant: str = "") -> int:
    """Returns the real numbers in a vector of a variant.

    Args:
        variant: An instruction set, for single precision: "avx512", "avx2", "baseline"; or for double precision:
            "avx512_double", "avx2_double", "baseline_double". "" and "double" are the fastest this processor runs.

    Raises:
        ValueError: If this processor does not run it.
    """
    width = int(library().qtj_lanes(variant.encode()))
    if not width:
        raise ValueError(f"this processor does not run the variant {variant!r}")
    return width


def shared_memory() -> int:
    """Returns the bytes that all engines of this process share, one call at a time."""
    return int(library().qtj_shared_bytes())


def lent_memory() -> int:
    """Returns the bytes that the budget of this process allows its engines to keep for gradients."""
    return int(library().qtj_lent())


class Opening(NamedTuple):
    """What `qtj_open` takes: who calls it with the same again gets the same circuit, as long as that is open."""

    plan: bytes
    layer: int
    variant: str
    threads: int
    keep_bytes: int


class Engine:
    """A plan that is ready to run. Any number of threads may call it, and one call runs at a time.

    Memory, in bytes, for n qubits, T threads and states of S = 8 · 2^n (examples in the lanes: S = 8 · 2^n · lanes;
    double precision: 16 instead of 8):
    S if there is a constant beginning and room for it, which engines with the same plan share; states of up to
    `keep_bytes` that wait for their gradient; and `shared_memory`, for the largest of all engines: S for values and 2 S
    for gradients where the state is divided over the threads, T times as much where the batch is, and one S more for
    each psi and layer whose state is kept (`BlockNode.layer`).
    """

    def __init__(self, *plans: Plan, threads: int = 1, variant: str = "", keep_bytes: int | None = _KEEP_BYTES) -> None:
        """Prepares the engine.

        Args:
            plans: At least one plan of one circuit: for many examples, for few, for vectors of different widths.
            threads: The number of threads; 0 for the threads of the process.
            variant: See `lanes`.
            keep_bytes: States that may be kept from values to gradients; other states are computed twice. None: as many
                as the budget of the process allows.

        Raises:
            MemoryError: If there is not enough memory.
            ValueError: If no plan is for the lanes of the variant.
        """
        first = plans[0]
        amplitude = 16 if variant.endswith("double") else 8
        self._qubits = first.shape.qubits
        self._state = in_words(statevector_bytes(self._qubits, bytes_per_amplitude=amplitude))
        self._sizes = len(first.inputs), len(first.weights), len(first.observables.offsets)
        self._library = library()
        handle = ctypes.c_void_p()
        keep = _FROM_THE_BUDGET if keep_bytes is None else keep_bytes
        self.opening = Opening(packed(compile_plans(plans)), next(LAYERS), variant, threads, keep)
        data, layer = self.opening[:2]
        self._check(
            self._library.qtj_open(data, len(data), layer, variant.encode(), threads, keep, ctypes.byref(handle))
        )
        self._handle = handle
        finalize(self, self._library.qtj_close, handle)

    @property
    def memory(self) -> int:
        """Bytes that it has allocated so far, including those that it has freed."""
        return int(self._library.qtj_bytes(self._handle))

    def states(self, batch: int) -> int:
        """Returns the bytes of all states of a batch that may wait for their gradient."""
        return int(self._library.qtj_states(self._handle, batch))

    def keep(self, keep_bytes: int) -> None:
        """Sets how many bytes of them may be kept from now on."""
        self._library.qtj_keep(self._handle, keep_bytes)

    def values(self, inputs: Array, weights: Array) -> Array:
        """Computes expectation values.

        Args:
            inputs: Float (batch, inputs).
            weights: Float (weights,).

        Returns:
            float64 (batch, readouts).

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape.
        """
        given = self._symbols(inputs, weights)
        values = np.empty((len(inputs), self._sizes[2]))
        self._check(self._library.qtj_forward(self._handle, len(inputs), *given, values))
        return values

    def states_in_memory(self, inputs: Array, weights: Array) -> NDArray[np.complex128]:
        """Computes states; `state_engine` gives them in the order of their qubits.

        Args:
            inputs: As for `values`.
            weights: As for `values`.

        Returns:
            complex128 (batch, 2^n), each in the order that the last pass of the engine's only plan has in memory: the
            bits of the vectors, and below them those of the lanes.

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape.
        """
        given = self._symbols(inputs, weights)
        states = np.empty((len(inputs), 1 << self._qubits), np.complex128)
        self._check(self._library.qtj_final_states(self._handle, len(inputs), *given, states.view(np.float64)))
        return states

    def gradients(self, inputs: Array, weights: Array, upstream: Array) -> tuple[Array, Array]:
        """Computes the gradients of sum(upstream * values). This is faster right after `values` of the same symbols.

        Args:
            inputs: As for `values`.
            weights: As for `values`.
            upstream: Float (batch, readouts).

        Returns:
            float64 (batch, inputs) and float64 (weights,).

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape.
        """
        given, factors = self._symbols(inputs, weights), self._factors(len(inputs), upstream)
        by_inputs, by_weights = (np.empty_like(each) for each in given)
        self._check(self._library.qtj_backward(self._handle, len(inputs), *given, factors, by_inputs, by_weights))
        return by_inputs, by_weights

    def curvature(
        self, inputs: Array, weights: Array, upstream: Array, along: tuple[Array, Array]
    ) -> tuple[Array, Array, Array]:
        """Computes the gradients of sum(along * gradients(inputs, weights, upstream)): exact second derivatives.

        It takes at least two gradients for each angle with a direction that is not 0.

        Args:
            inputs: As for `values`.
            weights: As for `values`.
            upstream: As for `gradients`.
            along: A direction, in the shapes of `inputs` and `weights`.

        Returns:
            float64: by `inputs`, `weights` and `upstream`. The last is the slope of the values along the direction.

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape, or the derivatives take more than 4096 gradients.
        """
        given, factors = self._symbols(inputs, weights), self._factors(len(inputs), upstream)
        direction = self._symbols(*along)
        if len(along[0]) != len(inputs):
            raise ValueError(f"the direction has {len(along[0])} examples, not {len(inputs)}")
        rows, shared = given
        slopes = np.empty_like(rows), np.empty_like(shared), np.empty_like(factors)
        self._check(
            self._library.qtj_curvature(
                self._handle, len(inputs), pointers(*given), factors, pointers(*direction), pointers(*slopes)
            )
        )
        return slopes

    def _factors(self, batch: int, upstream: Array) -> Array:
        if upstream.shape != (batch, self._sizes[2]):
            raise ValueError(f"upstream is {upstream.shape}, not (batch, {self._sizes[2]})")
        return _doubles(upstream)

    def _symbols(self, inputs: Array, weights: Array) -> Sequence[Array]:
        """Checks the shapes, because the library does not check them."""
        many, shared, _ = self._sizes
        if inputs.shape[1:] != (many,) or weights.shape != (shared,):
            raise ValueError(
                f"inputs are {inputs.shape} and weights {weights.shape}, not (batch, {many}) and ({shared},)"
            )
        return _doubles(inputs), _doubles(weights)

    def _check(self, problem: bytes | None) -> None:
        if problem == _NO_MEMORY:
            raise MemoryError(f"the fused engine: out of memory: it needs several state vectors of {self._state} each")
        if problem and problem.startswith(_NO_MEMORY):
            raise MemoryError(f"the fused engine: {problem.decode()}")
        if problem:
            raise ValueError(f"the fused engine: {problem.decode()}")


def _doubles(array: Array) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)
