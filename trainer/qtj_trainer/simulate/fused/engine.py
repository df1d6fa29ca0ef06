"""Values and gradients of one circuit, by the native engine."""

import ctypes
from itertools import count
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from qtj_contract import statevector_bytes
from qtj_contract.quantities import in_words
from qtj_trainer.simulate.fused.library import library
from qtj_trainer.simulate.fused.plan import Plan
from qtj_trainer.simulate.fused.program import compile_plan

__all__ = ["Engine", "lanes", "shared_memory"]

Array = NDArray[Any]

_KEEP_BYTES = 64 << 20


def lanes(variant: str = "") -> int:
    """Returns the floats in a vector of a variant: "avx512", "avx2", "baseline", or the fastest this processor runs.

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


class Engine:
    """A plan, ready to be run; any number of threads may call it, one at a time is served.

    Memory, in bytes, for n qubits, T threads and states of S = 8 · 2^n (examples in the lanes: S = 8 · 2^n · lanes):
    S if there is a constant beginning, which engines with the same plan share; states of up to `keep_bytes` that wait
    for their gradient; and `shared_memory`, for the largest of all engines: 2 S where the state is divided over the
    threads and 2 T S where the batch is, one S more for each psi and layer whose state is kept (`BlockNode.layer`).
    """

    def __init__(self, plan: Plan, *, threads: int = 1, variant: str = "", keep_bytes: int = _KEEP_BYTES) -> None:
        """Makes it ready.

        Args:
            plan: Made for the lanes of the same variant.
            threads: How many work together.
            variant: See `lanes`.
            keep_bytes: States that may be kept from values to gradients; beyond, they are computed twice.

        Raises:
            MemoryError: If there is not enough memory.
        """
        self._state = in_words(statevector_bytes(plan.shape.qubits))
        self._program = compile_plan(plan)
        self._library = library()
        self._serials = count(1)
        self._last = 0, np.empty(0), np.empty(0)
        handle = ctypes.c_void_p()
        integers, constants = self._program.integers, self._program.constants
        self._check(
            self._library.qtj_create(
                integers, integers.size, constants, constants.size, variant.encode(), threads, keep_bytes,
                ctypes.byref(handle),
            )
        )  # fmt: skip
        self._handle = handle
        finalize(self, self._library.qtj_destroy, handle)

    @property
    def memory(self) -> int:
        """Bytes it has taken for itself so far, with what it has given back since."""
        return int(self._library.qtj_bytes(self._handle))

    def states(self, batch: int) -> int:
        """Returns the bytes of all states of a batch that may wait for their gradient."""
        return int(self._library.qtj_states(self._handle, batch))

    def keep(self, keep_bytes: int) -> None:
        """Sets how many bytes of them may be kept from now on."""
        self._library.qtj_keep(self._handle, keep_bytes)

    def values(self, inputs: Array, weights: Array) -> tuple[Array, int]:
        """Computes expectation values.

        Args:
            inputs: Float (batch, inputs).
            weights: Float (weights,).

        Returns:
            float64 (batch, readouts), and the name under which a gradient may be asked for.

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape.
        """
        self._check_shapes(inputs, weights)
        shared, example = self._program.angles(inputs, weights)
        serial = next(self._serials)
        self._last = serial, shared, example
        values = np.empty((len(inputs), self._program.readouts))
        self._check(self._library.qtj_forward(self._handle, len(inputs), shared, example, serial, values))
        return values, serial

    def gradients(self, inputs: Array, weights: Array, upstream: Array, serial: int = 0) -> tuple[Array, Array]:
        """Computes the gradients of sum(upstream * values).

        Args:
            inputs: As for `values`.
            weights: As for `values`.
            upstream: Float (batch, readouts).
            serial: What `values` named these inputs and weights; 0 if it was not asked.

        Returns:
            float64 (batch, inputs) and float64 (weights,).

        Raises:
            MemoryError: If there is not enough memory for the batch.
            ValueError: If an array has another shape.
        """
        self._check_shapes(inputs, weights)
        if upstream.shape != (len(inputs), self._program.readouts):
            raise ValueError(f"upstream is {upstream.shape}, not (batch, {self._program.readouts})")
        last, *angles = self._last
        known = serial and serial == last and len(angles[1]) == len(inputs)
        shared, example = angles if known else self._program.angles(inputs, weights)
        by_shared, by_example = np.empty_like(shared), np.empty_like(example)
        above = np.ascontiguousarray(upstream, dtype=np.float64)
        self._check(
            self._library.qtj_backward(self._handle, len(inputs), shared, example, serial, above, by_shared, by_example)
        )
        return self._program.slopes(by_shared, by_example)

    def _check_shapes(self, inputs: Array, weights: Array) -> None:
        """The library believes what it is told of sizes."""
        many, shared = len(self._program.from_inputs), len(self._program.shared)
        if inputs.shape[1:] != (many,) or weights.shape != (shared,):
            raise ValueError(
                f"inputs are {inputs.shape} and weights {weights.shape}, not (batch, {many}) and ({shared},)"
            )

    def _check(self, problem: bytes | None) -> None:
        if problem == b"out of memory":
            raise MemoryError(f"the fused engine: out of memory: it holds several state vectors of {self._state} each")
        if problem:
            raise ValueError(f"the fused engine: {problem.decode()}")
