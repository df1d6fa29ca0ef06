"""A noisy circuit as blocks of gates on two qubits, with channels between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import cirq

from qtj_simulator.fused.blocks import Block, Fusion
from qtj_simulator.fused.gates import Gate
from qtj_simulator.fused.reading import elementary
from qtj_simulator.fused.shape import FEWEST_QUBITS
from qtj_simulator.noise.channels import Channel, channel_of, commute, composed
from qtj_simulator.operations import parameter_names, parts_of, plain, resolved
from qtj_simulator.specification import Readout

__all__ = ["Noise", "NoisyCircuit", "Step", "noisy_circuit", "with_noise"]

Noise: TypeAlias = Any
"""A `cirq.NoiseModel`, or a channel on one qubit that acts on all qubits after each moment; None for no more noise."""
_MOST_QUBITS = 24


@dataclass(frozen=True, slots=True)
class Step:
    """What is done next: a block or a channel, on qubits by number."""

    does: Block | Channel
    qubits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoisyCircuit:
    """A circuit with noise.

    Attributes:
        number: The numbers of its qubits.
        steps: Blocks and channels, in an order in which they may be applied.
    """

    number: Mapping[cirq.Qid, int]
    steps: tuple[Step, ...]

    @property
    def qubits(self) -> int:
        """Qubits of the state, at least two."""
        return max(len(self.number), FEWEST_QUBITS)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks, in order."""
        return tuple(step.does for step in self.steps if isinstance(step.does, Block))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Its channels, in order."""
        return tuple(step.does for step in self.steps if isinstance(step.does, Channel))


def with_noise(circuit: cirq.AbstractCircuit, noise: Noise) -> cirq.AbstractCircuit:
    """Adds noise to a circuit, as Cirq's simulators do.

    Args:
        circuit: The circuit; it may have channels.
        noise: The noise.

    Returns:
        The circuit with its own channels and those of the noise.

    Raises:
        TypeError: If the circuit is not a circuit, or the noise is neither a model nor a channel on one qubit.
        ValueError: If the noise acts on qubits that are not in the circuit.
    """
    if not isinstance(circuit, cirq.AbstractCircuit):
        raise TypeError(f"the circuit is a {type(circuit).__name__}: give a cirq.Circuit")
    if noise is None:
        return circuit
    if not isinstance(noise, cirq.NoiseModel) and not (isinstance(noise, cirq.Gate) and noise.num_qubits() == 1):
        raise TypeError(f"the noise is {noise!r}: give a cirq.NoiseModel, or a channel on one qubit")
    noisy = circuit.unfreeze().with_noise(noise)
    if stray := sorted(noisy.all_qubits() - circuit.all_qubits()):
        names = ", ".join(map(str, stray))
        raise ValueError(f"the noise acts on qubits that are not in the circuit: {names}")
    return noisy


def noisy_circuit(circuit: cirq.AbstractCircuit, readouts: tuple[Readout, ...]) -> NoisyCircuit:
    """Fuses the gates of a circuit between its channels.

    Args:
        circuit: The circuit, with its channels.
        readouts: What is measured.

    Returns:
        The circuit as steps.

    Raises:
        UnsupportedError: If a gate does not decompose into gates on one and two qubits.
        ValueError: If an operation is neither a gate nor a channel, or there are too many qubits.
    """
    measured = {qubit for readout in readouts for qubit in readout.qubits}
    qubits = sorted({*circuit.all_qubits(), *measured})
    if len(qubits) > _MOST_QUBITS:
        raise ValueError(f"{len(qubits)} qubits are too many for trajectories: {_MOST_QUBITS} are the most")
    number = {qubit: index for index, qubit in enumerate(qubits)}
    return NoisyCircuit(number, _noticed(_steps(circuit, number), {number[qubit] for qubit in measured}))


def _noticed(steps: Sequence[Step], measured: set[int]) -> tuple[Step, ...]:
    """The steps in the causal cone of what is measured: the others, channels too, change no value there."""
    cone, noticed = set(measured), list[Step]()
    for step in reversed(steps):
        if not cone.isdisjoint(step.qubits):
            cone.update(step.qubits)
            noticed.append(step)
    return tuple(noticed[::-1])


def _steps(circuit: cirq.AbstractCircuit, number: Mapping[cirq.Qid, int]) -> tuple[Step, ...]:
    made = _Growing(max(len(number), FEWEST_QUBITS))
    for operation in _opened(circuit.all_operations()):
        if _is_gate(operation):
            for gate in elementary(operation):
                made.add_gate(gate, tuple(number[qubit] for qubit in gate.qubits))
        else:
            channel = channel_of(operation)
            made.add_channel(channel, tuple(number[qubit] for qubit in channel.qubits))
    return tuple(made.steps())


@dataclass(frozen=True, slots=True)
class _Growing:
    """The steps so far.

    A channel on one qubit waits there until a gate comes that does not commute with it: so it may become one with the
    next channel, and gates around it may be fused. Other channels end the blocks on their qubits.

    Attributes:
        qubits: How many there are.
        fusion: Blocks.
        channels: Channels, each with the number of blocks before it.
        waiting: The channel that waits on each qubit.
    """

    qubits: int
    fusion: Fusion = field(default_factory=Fusion)
    channels: list[tuple[int, Step]] = field(default_factory=list)
    waiting: dict[int, Channel] = field(default_factory=dict)

    def add_gate(self, gate: Gate, on: tuple[int, ...]) -> None:
        for qubit in on:
            if qubit in self.waiting and not (len(on) == 1 and commute(self.waiting[qubit], gate)):
                self._act(self.waiting.pop(qubit), (qubit,))
        self.fusion.add(gate, on)

    def add_channel(self, channel: Channel, on: tuple[int, ...]) -> None:
        earlier = {qubit: self.waiting.pop(qubit) for qubit in on if qubit in self.waiting}
        both = composed(earlier[on[0]], channel) if len(on) == 1 and earlier else None
        if both is None:
            for qubit, each in earlier.items():
                self._act(each, (qubit,))
        if len(on) == 1:
            self.waiting[on[0]] = both or channel
        else:
            self._act(channel, on)

    def steps(self) -> Iterator[Step]:
        for qubit, channel in self.waiting.items():
            self._act(channel, (qubit,))
        self.fusion.finish(self.qubits)
        yield from _merged([growing.block() for growing in self.fusion.blocks], self.channels)

    def _act(self, channel: Channel, on: tuple[int, ...]) -> None:
        self.fusion.stop(on, self.qubits)
        self.channels.append((len(self.fusion.blocks), Step(channel, on)))


def _opened(operations: Iterable[cirq.Operation]) -> Iterator[cirq.Operation]:
    """Yields operations without tags; of a circuit within the circuit that is no gate, its own operations."""
    for each in map(plain, operations):
        parts = None if not isinstance(each, cirq.CircuitOperation) or _is_gate(each) else parts_of(each)
        if parts is None:
            yield each
        else:
            yield from _opened(parts)


def _is_gate(operation: cirq.Operation) -> bool:
    """Whether it is unitary, for any values of its symbols."""
    if not cirq.is_parameterized(operation):
        return bool(cirq.has_unitary(operation))
    zeros = resolved(operation, dict.fromkeys(parameter_names(operation), 0.0))
    return zeros is not None and bool(cirq.has_unitary(zeros))


def _merged(blocks: list[Block], channels: list[tuple[int, Step]]) -> Iterator[Step]:
    """Puts each channel after as many blocks as there were when it acted."""
    done = 0
    for place, step in [*channels, (len(blocks), None)]:
        yield from (Step(block, block.qubits) for block in blocks[done:place])
        done = place
        if step is not None:
            yield step
