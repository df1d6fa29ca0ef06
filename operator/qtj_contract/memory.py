"""How much memory a replica needs to train a circuit: one formula, for the operator's admission and for the trainer.

The operator knows only the circuit, so it counts what is needed on every machine. The trainer also knows its engine,
its threads and its batch. The figures are measured: tests/trainer/test_peak_memory.py compares them with what
processes really use.
"""

from dataclasses import dataclass

__all__ = [
    "EXAMPLES_IN_LANES",
    "MAX_QUBITS",
    "MIN_QUBITS",
    "PROGRAM_BYTES",
    "STATES",
    "TILE_BITS",
    "Circuits",
    "ReplicaMemory",
    "memory_of",
    "statevector_bytes",
]

PROGRAM_BYTES = 350 << 20
"""What a trainer uses before its first circuit: TensorFlow 2.18, Cirq, the model, the data. All of it is private
memory, which always counts against a limit. Another 370 MiB are libraries. They are files, so the kernel can drop
them."""

_TRAINING_BYTES = 30 << 20
"""What only training needs, not inference: the graph of a step, the optimizer, checkpoints, TensorBoard's curves."""

_PEERS_BYTES = 45 << 20
"""What a replica needs to exchange gradients with others: TensorFlow's server and its connections."""

_TFQ_PROGRAM_BYTES = 25 << 20
"""What TensorFlow Quantum needs in addition."""

_TFQ_EXAMPLE_BYTES = 112 << 10
"""What TensorFlow Quantum allocates for each qubit of each example: a circuit, and its derivatives."""

_FILTER_BYTES = 2 << 20
"""One circuit of the model: its plan, its part of the graph, its optimizer."""

_ANGLE_BYTES = 64
"""Matrices and sums of one qubit of one example, for each byte of an amplitude."""

_VECTOR_BYTES = 64
"""The widest vector there is (AVX-512)."""
EXAMPLES_IN_LANES = 12
"""Up to this many qubits, each lane of a vector holds another example: that is faster than one example at a time."""
TILE_BITS = 14
"""Vectors in a tile of the fused engine, as a power of 2. A state of a single tile is not divided over the threads.

A tile of 2^14 vectors of 16 complex numbers takes 2 MiB; two of them fit into the part of L3 that a processor has for
each core. Sweeps read ahead, so L3 is as good as L2, and larger tiles are contiguous in memory for longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuits:
    """What the memory of a replica depends on.

    Attributes:
        qubits: Qubits of each circuit.
        filters: Circuits evaluated side by side, each in its own layer.
        batch: Examples in one step of this replica.
        threads: Threads that simulate.
        amplitude_bytes: Bytes of an amplitude: 8 in single precision, 16 in double precision.
        buffers: Intermediate states that a circuit keeps, besides the last one, if a state fits into one tile.
        tfq: Whether TensorFlow Quantum simulates them, and not the fused engine.
        replicas: Replicas that train in step; 0 for inference.
        vector_bytes: Bytes of a vector of the processor. The widest there is needs the most memory: fewer examples fit
            side by side into a narrower one, and fewer qubits into a single tile.
    """

    qubits: int
    filters: int = 1
    batch: int = 1
    threads: int = 1
    amplitude_bytes: int = 8
    buffers: int = 0
    tfq: bool = False
    replicas: int = 1
    vector_bytes: int = _VECTOR_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaMemory:
    """Bytes that one replica needs.

    Attributes:
        program: The program without states.
        states: Statevectors that exist at the same time: the initial state, and for each worker with its own state also
            that state, its intermediate states, and the one that is taken back. Where there is no room for the initial
            state, the fused engine computes it again in each call.
        keepable: States that are kept for their gradient if there is enough memory; the others are computed twice.
    """

    program: int
    states: int
    keepable: int

    @property
    def least(self) -> int:
        """The minimum."""
        return self.program + self.states

    @property
    def most(self) -> int:
        """What it uses if there is enough memory."""
        return self.least + self.keepable


def memory_of(circuits: Circuits) -> ReplicaMemory:
    """Returns what a replica needs. With one thread and nothing kept, the adjoint method has `STATES` states."""
    return _with_tfq(circuits) if circuits.tfq else _with_fused(circuits)


def _before_circuits(circuits: Circuits) -> int:
    training = _TRAINING_BYTES if circuits.replicas else 0
    return PROGRAM_BYTES + training + (_PEERS_BYTES if circuits.replicas > 1 else 0)


def _with_tfq(circuits: Circuits) -> ReplicaMemory:
    """Each thread has its own states, and as many layers as there are threads build circuits at the same time."""
    state = statevector_bytes(circuits.qubits)
    examples = min(circuits.filters, circuits.threads) * circuits.batch * circuits.qubits * _TFQ_EXAMPLE_BYTES
    return ReplicaMemory(
        program=_before_circuits(circuits) + _TFQ_PROGRAM_BYTES + circuits.filters * _FILTER_BYTES + examples,
        states=STATES * min(circuits.threads, circuits.batch) * state,
        keepable=0,
    )


def _with_fused(circuits: Circuits) -> ReplicaMemory:
    """All layers share the states that are worked on (docs/design/engine.md)."""
    side_by_side = circuits.qubits <= EXAMPLES_IN_LANES and circuits.batch > 1
    width = 2 * circuits.vector_bytes // circuits.amplitude_bytes
    lanes = width if side_by_side else 1
    state = lanes * statevector_bytes(circuits.qubits, bytes_per_amplitude=circuits.amplitude_bytes)
    units = -(-circuits.batch // lanes)
    tiles = max(circuits.qubits - width.bit_length() + 1 - TILE_BITS, 0)
    buffers = 0 if tiles else circuits.buffers
    divided = 1 << tiles >= 2 * circuits.threads or (tiles and units < circuits.threads)
    workers = 1 if divided else min(circuits.threads, units)
    return ReplicaMemory(
        program=_before_circuits(circuits)
        + circuits.filters
        * (_FILTER_BYTES + circuits.batch * circuits.qubits * circuits.amplitude_bytes * _ANGLE_BYTES),
        states=(STATES - 2 + workers * (2 + buffers)) * state,
        keepable=circuits.filters * units * (1 + buffers) * state,
    )


MIN_QUBITS = 4
"""The fewest qubits of a network: two must be left after one pooling."""

MAX_QUBITS = 40
"""One statevector of more than 8 TiB fits no machine."""

STATES = 3
"""Statevectors that the gradient of one circuit holds (adjoint method): the state, the state being taken back gate by
gate, and a copy to differentiate. TensorFlow Quantum 0.7.6; Luo et al., "Yao.jl", Quantum 4, 341 (2020), section 3."""


def statevector_bytes(qubits: int, *, bytes_per_amplitude: int = 8) -> int:
    """Returns the bytes of one statevector: 2^qubits complex amplitudes."""
    return bytes_per_amplitude << qubits
