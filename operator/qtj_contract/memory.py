"""How much memory a replica takes that trains a circuit: one formula, for the operator's admission and for the trainer.

The operator knows the circuit alone, and so counts what no machine can do without; the trainer knows its engine, its
threads and its batch as well. The figures are measured: tests/trainer/test_peak_memory.py compares them with what
processes really take. Standard library only, for the trainer imports this too.
"""

from dataclasses import dataclass

from qtj_contract.statevector import STATES, statevector_bytes

__all__ = ["EXAMPLES_IN_LANES", "PROGRAM_BYTES", "TILE_BITS", "Circuits", "ReplicaMemory", "memory_of"]

PROGRAM_BYTES = 350 << 20
"""What a trainer has before its first circuit: TensorFlow 2.18, Cirq, the model, the data. All of it is private memory,
which counts against a limit for good. The 370 MiB of libraries beside it are files, which the kernel can drop."""

_TRAINING_BYTES = 20 << 20
"""What training takes beside inference: the graph of a step, the optimizer, checkpoints, TensorBoard's curves."""

_PEERS_BYTES = 45 << 20
"""What a replica takes that exchanges gradients with others: TensorFlow's server and its connections."""

_TFQ_PROGRAM_BYTES = 25 << 20
"""TensorFlow Quantum beside it."""

_TFQ_EXAMPLE_BYTES = 112 << 10
"""What TensorFlow Quantum makes of each example for each qubit: a circuit of its own, and its derivatives."""

_FILTER_BYTES = 2 << 20
"""A circuit of its own in the model: its plan, its place in the graph, its optimizer."""

_ANGLE_BYTES = 512
"""Matrices and sums of one qubit of one example."""

_LANES = 16
"""Floats in the widest vector there is (AVX-512)."""
EXAMPLES_IN_LANES = 12
"""Up to so many qubits, each lane of a vector has an example of its own: that is faster than one after the other."""
TILE_BITS = 14
"""Vectors in a tile of the fused engine, as a power of 2. A state of a single tile is not divided over the threads.

A tile of 2^14 vectors of 16 complex numbers takes 2 MiB; two of them stay in the part of L3 that a processor has for
each core. Sweeps read ahead, so L3 is as good as L2, and larger tiles lie in memory in longer runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuits:
    """What decides about the memory of a replica.

    Attributes:
        qubits: Qubits of each circuit.
        filters: Circuits side by side, each with a layer of its own.
        batch: Examples of one step in this replica.
        threads: How many simulate.
        buffers: States that a circuit keeps on its way, beside the last one, where it fits into one tile.
        tfq: Whether TensorFlow Quantum simulates them, and not the fused engine.
        replicas: How many take each step together; 0 for inference.
    """

    qubits: int
    filters: int = 1
    batch: int = 1
    threads: int = 1
    buffers: int = 0
    tfq: bool = False
    replicas: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaMemory:
    """Bytes that one replica takes.

    Attributes:
        program: The program without states.
        states: Statevectors that are there at once: the beginning of the circuit, and for each worker that has one of
            its own the state, those on its way, and the one that is taken back.
        keepable: States that wait for their gradient as far as there is room; the others are computed twice.
    """

    program: int
    states: int
    keepable: int

    @property
    def least(self) -> int:
        """What it cannot do without."""
        return self.program + self.states

    @property
    def most(self) -> int:
        """What it takes where there is room."""
        return self.least + self.keepable


def memory_of(asked: Circuits) -> ReplicaMemory:
    """Returns what a replica takes. With one thread and nothing kept, the adjoint method has `STATES` states."""
    return _with_tfq(asked) if asked.tfq else _with_fused(asked)


def _before_circuits(asked: Circuits) -> int:
    training = _TRAINING_BYTES if asked.replicas else 0
    return PROGRAM_BYTES + training + (_PEERS_BYTES if asked.replicas > 1 else 0)


def _with_tfq(asked: Circuits) -> ReplicaMemory:
    """Each thread has states of its own, and as many layers as there are threads make circuits at the same time."""
    state = statevector_bytes(asked.qubits)
    examples = min(asked.filters, asked.threads) * asked.batch * asked.qubits * _TFQ_EXAMPLE_BYTES
    return ReplicaMemory(
        program=_before_circuits(asked) + _TFQ_PROGRAM_BYTES + asked.filters * _FILTER_BYTES + examples,
        states=STATES * min(asked.threads, asked.batch) * state,
        keepable=0,
    )


def _with_fused(asked: Circuits) -> ReplicaMemory:
    """The states that are worked on are there once for all layers (docs/design/engine.md)."""
    side_by_side = asked.qubits <= EXAMPLES_IN_LANES and asked.batch > 1
    lanes = _LANES if side_by_side else 1
    state = lanes * statevector_bytes(asked.qubits)
    units = -(-asked.batch // lanes)
    tiles = max(asked.qubits - _LANES.bit_length() + 1 - TILE_BITS, 0)
    buffers = 0 if tiles else asked.buffers
    divided = 1 << tiles >= 2 * asked.threads or (tiles and units < asked.threads)
    workers = 1 if divided else min(asked.threads, units)
    return ReplicaMemory(
        program=_before_circuits(asked) + asked.filters * (_FILTER_BYTES + asked.batch * asked.qubits * _ANGLE_BYTES),
        states=(STATES - 2 + workers * (2 + buffers)) * state,
        keepable=asked.filters * units * (1 + buffers) * state,
    )
