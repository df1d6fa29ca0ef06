"""The program of a noisy circuit: the numbers that `native/trajectories.h` describes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block
from qtj_simulator.fused.observables import Term
from qtj_simulator.noise.channels import Channel
from qtj_simulator.noise.circuit import NoisyCircuit, Step

__all__ = ["Program", "compile_program", "without_phase"]

_BLOCK, _CHANNEL = range(2)
_NO_QUBIT = -1
_MATRIX = 16
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Program:
    """What the native library needs.

    Attributes:
        integers: int32.
        branches: float32 (branches, 33): of each its probability, 0 in a channel that is not a mixture; then its
            matrix without its phase, real and imaginary parts.
    """

    integers: NDArray[np.int32]
    branches: NDArray[np.float32]


def compile_program(circuit: NoisyCircuit, terms: tuple[Term, ...]) -> Program:
    """Writes the program of a circuit and the Pauli strings that are measured after it."""
    channels = circuit.channels
    ends = list(np.cumsum([len(channel.matrices) for channel in channels]))
    table = [
        [
            end - len(channel.matrices),
            len(channel.matrices),
            int(channel.probabilities is not None),
            len(channel.qubits),
        ]
        for end, channel in zip(ends, channels, strict=True)
    ]
    header = [
        circuit.qubits, len(circuit.blocks), len(channels), ends[-1] if ends else 0, len(terms), len(circuit.steps),
    ]  # fmt: skip
    rows = [header, *_steps(circuit.steps), *table, *map(_term, terms)]
    branches = list(chain.from_iterable(map(_branches, channels)))
    return Program(
        np.array(list(chain.from_iterable(rows)), np.int32),
        np.array(branches, np.float32).reshape(-1, 1 + 2 * _MATRIX),
    )


def _steps(steps: tuple[Step, ...]) -> Iterator[list[int]]:
    blocks = channels = 0
    for step in steps:
        if isinstance(step.does, Block):
            yield [_BLOCK, blocks, *step.qubits]
            blocks += 1
        else:
            yield [_CHANNEL, channels, *step.qubits, *([_NO_QUBIT] * (2 - len(step.qubits)))]
            channels += 1


def _branches(channel: Channel) -> Iterator[list[float]]:
    likely = np.zeros(len(channel.matrices)) if channel.probabilities is None else channel.probabilities
    for probability, matrix in zip(likely, channel.matrices, strict=True):
        unused = _MATRIX - matrix.size
        turned = without_phase(matrix)
        parts = (np.pad(part.ravel(), (0, unused)) for part in (turned.real, turned.imag))
        yield [probability, *chain.from_iterable(parts)]


def _term(term: Term) -> list[int]:
    """A Pauli string as bit masks: X and Y flip, Y and Z give signs, each Y a phase i."""
    flips, signs = (sum(1 << qubit for qubit, pauli in term.paulis.items() if pauli in kind) for kind in ("XY", "YZ"))
    return [flips, signs, sum(pauli == "Y" for pauli in term.paulis.values()) % 4]


def without_phase(matrix: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Makes the largest entry of the diagonal real and positive, and parts that are only rounding errors 0.

    If there are only zeros in the diagonal, it is the largest entry of all. A phase changes no expectation value;
    without it, more entries are real or imaginary alone, and the engine applies such matrices faster
    (`native/forms.h`).
    """
    diagonal, most = np.diagonal(matrix), np.abs(matrix).max()
    entries = diagonal if np.abs(diagonal).max() > _ROUNDING * most else matrix.ravel()
    largest = entries[np.argmax(np.abs(entries))]
    if largest == 0:
        return matrix
    turned = matrix * (largest.conj() / abs(largest))
    real, imaginary = (np.where(np.abs(part) > _ROUNDING * most, part, 0) for part in (turned.real, turned.imag))
    return np.asarray(real + 1j * imaginary)
