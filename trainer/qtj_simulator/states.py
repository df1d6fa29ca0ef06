"""Statevectors of parametrised circuits, and what is taken from them: probabilities, samples, kernels and metrics."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import cirq
import numpy as np
from numpy.typing import NDArray

from qtj_simulator.engines import Precision, default_threads
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import Plan, state_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import Symbols, specified

__all__ = ["StateEngine", "fidelities", "state_engine"]

Array = NDArray[Any]
Qubits: TypeAlias = Sequence[cirq.Qid]

_STEP = 1e-5
"""Of the differences in a metric: halfway between errors of rounding, and those of a step that is too long."""


def state_engine(
    circuit: cirq.AbstractCircuit,
    *,
    inputs: Symbols = (),
    weights: Symbols = (),
    qubits: Qubits | None = None,
    dtype: str = "float32",
    threads: int | None = None,
) -> "StateEngine":
    """Returns the engine for the state after a circuit, for many examples in one call.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
        inputs: The symbols with a value for each example, one column each.
        weights: The symbols with one value for all examples.
        qubits: The qubits in the order of the state's axes, the first one most significant; others than those of the
            circuit stay |0⟩. None: those of the circuit, sorted, as in Cirq.
        dtype: The precision of amplitudes: "float32" for complex64, or "float64" for complex128.
        threads: The number of threads; None: $OMP_NUM_THREADS, or the processors that this process may use.

    Raises:
        TypeError: If an argument has the wrong type.
        UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
        ValueError: If the circuit has other symbols, `qubits` lacks one of its qubits or has one twice, or `dtype` is
            none of the two.
        MemoryError: If there is not enough memory.
    """
    precision = Precision.of(dtype)
    variant = precision.variant
    asked = specified(circuit, [], inputs, weights)
    order = tuple(sorted(circuit.all_qubits()) if qubits is None else qubits)
    if len(set(order)) < len(order) or not order or not set(order) >= circuit.all_qubits():
        raise ValueError(f"qubits is {list(order)}: give each qubit of the circuit once, and one at least")
    plan = state_circuit(asked, order).plan(Tuning(lanes(variant), batch=1))
    engine = Engine(plan, threads=default_threads() if threads is None else threads, variant=variant, keep_bytes=0)
    return StateEngine(engine, plan, order, np.dtype("complex128" if variant else "complex64"))


class StateEngine:
    """States of one circuit, whose symbols have values in NumPy arrays. Make it with `state_engine`.

    `inputs` are float (batch, inputs), and `weights` float (weights,). A method raises ValueError for other shapes, and
    MemoryError if there is not enough memory; 16 · 2^n bytes for each example of n qubits are needed for the result.
    """

    def __init__(self, engine: Engine, plan: Plan, qubits: Qubits, dtype: np.dtype[Any]) -> None:
        """Takes an engine with one plan, whose qubits have the numbers of their places in `qubits`."""
        self.qubits, self.dtype = tuple(qubits), dtype
        self._engine, self._bits = engine, plan.shape.qubits
        layout = plan.passes[-1].layout
        from_the_highest = (*reversed(layout.vector), *reversed(layout.lanes))
        self._axes = [1 + from_the_highest.index(number) for number in range(self._bits)]

    def statevectors(self, inputs: Array, weights: Array) -> Array:
        """Computes the amplitudes, up to one global phase for each example.

        Returns:
            complex64 or complex128, by the engine's `dtype`, (batch, 2^n); the first qubit is the most significant bit
            of the index.
        """
        found = self._engine.states_in_memory(inputs, weights).astype(self.dtype, copy=False)
        ordered = found.reshape(len(found), *[2] * self._bits).transpose(0, *self._axes)
        unused = self._bits - len(self.qubits)  # the engine has two qubits at least
        return ordered.reshape(len(found), 2 ** len(self.qubits), 2**unused)[..., 0]

    def probabilities(self, inputs: Array, weights: Array, qubits: Qubits | None = None) -> Array:
        """Computes how probable each outcome of a measurement of some qubits is.

        Args:
            inputs: Float (batch, inputs).
            weights: Float (weights,).
            qubits: The measured qubits, in the order of the outcome's bits, the first most significant. None: all.

        Returns:
            float64 (batch, 2^k) for k qubits, each row with the sum 1.

        Raises:
            ValueError: If a qubit is unknown or listed twice.
        """
        measured = [self._place(qubit) for qubit in (self.qubits if qubits is None else qubits)]
        if len(set(measured)) < len(measured):
            raise ValueError("a qubit is listed twice")
        others = [place for place in range(len(self.qubits)) if place not in measured]
        squares = np.abs(self.statevectors(inputs, weights).astype(np.complex128)) ** 2
        shaped = squares.reshape(len(squares), *[2] * len(self.qubits))
        ordered = shaped.transpose(0, *(1 + place for place in (*measured, *others)))
        rows = ordered.reshape(len(squares), 2 ** len(measured), 2 ** len(others)).sum(axis=2)
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def samples(
        self, inputs: Array, weights: Array, shots: int, *, qubits: Qubits | None = None, seed: int | None = None
    ) -> Array:
        """Draws outcomes of measurements of some qubits.

        Args:
            inputs: Float (batch, inputs).
            weights: Float (weights,).
            shots: How many outcomes each example has.
            qubits: As for `probabilities`.
            seed: Of the random numbers; the same seed draws the same outcomes. None: another one each time.

        Returns:
            uint8 (batch, shots, k), a bit for each of the k qubits.

        Raises:
            ValueError: If a qubit is unknown or listed twice, or `shots` is negative.
        """
        rows = self.probabilities(inputs, weights, qubits)
        random = np.random.default_rng(seed)
        outcomes = np.array([random.choice(rows.shape[1], shots, p=row) for row in rows], np.int64)
        bits = rows.shape[1].bit_length() - 1
        shifts = np.arange(bits - 1, -1, -1)
        return (outcomes.reshape(len(rows), shots, 1) >> shifts & 1).astype(np.uint8)

    def kernel(self, inputs: Array, others: Array, weights: Array) -> Array:
        """Computes the kernel matrix |⟨ψ(x)|ψ(y)⟩|² of all examples x of `inputs` and y of `others`.

        Returns:
            float64 (inputs, others).
        """
        rows = self.statevectors(np.concatenate([inputs, others]), weights)
        return np.asarray(np.abs(rows[: len(inputs)].conj() @ rows[len(inputs) :].T) ** 2, np.float64)

    def metric(self, inputs: Array, weights: Array) -> Array:
        """Computes the Fubini-Study metric by the inputs: how far a small change of them moves the state.

        It is Re(⟨∂ᵢψ|∂ⱼψ⟩ - ⟨∂ᵢψ|ψ⟩⟨ψ|∂ⱼψ⟩) (arXiv:1909.02108), by central differences of states, with an error of
        about 1e-8 of its size. For each example it computes 2 · inputs + 1 states, all of them in one call, and takes
        the memory of about 2.5 times as many.

        Args:
            inputs: Float (batch, inputs).
            weights: Float (weights,).

        Returns:
            float64 (batch, inputs, inputs).

        Raises:
            ValueError: If the engine computes in single precision, which is too coarse for differences.
        """
        if self.dtype != np.complex128:
            raise ValueError('the metric needs double precision: make the engine with dtype="float64"')
        count = inputs.shape[1]
        steps = _STEP * np.concatenate([np.zeros((1, count)), np.eye(count), -np.eye(count)])
        states = self.statevectors((inputs[:, None] + steps).reshape(-1, count), weights)
        at, around = np.split(states.reshape(len(inputs), 2 * count + 1, -1), [1], axis=1)
        overlaps = around @ at.conj().transpose(0, 2, 1)
        aligned = around * overlaps.conj() / np.abs(overlaps)  # each state has another global phase
        slopes = (aligned[:, :count] - aligned[:, count:]) / (2 * _STEP)
        return np.asarray(np.real(slopes.conj() @ slopes.transpose(0, 2, 1)))

    def _place(self, qubit: cirq.Qid) -> int:
        if qubit not in self.qubits:
            raise ValueError(f"{qubit} is not among the qubits of the state: {', '.join(map(str, self.qubits))}")
        return self.qubits.index(qubit)


def fidelities(states: Array, others: Array) -> Array:
    """Computes |⟨ψ|φ⟩|² of pairs of states, which may come from two circuits.

    Args:
        states: Complex (batch, 2^n).
        others: Complex (batch, 2^n).

    Returns:
        float64 (batch,).

    Raises:
        ValueError: If the arrays do not have one shape.
    """
    if states.shape != others.shape:
        raise ValueError(f"the states are {states.shape} and {others.shape}: give as many of the same qubits")
    return np.asarray(np.abs(np.einsum("bi,bi->b", states.conj(), others)) ** 2, np.float64)
