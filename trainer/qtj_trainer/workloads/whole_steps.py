"""Which circuits are so small that each process takes whole steps, and exchanges nothing within an epoch.

Processes that share each step exchange their gradients in it. Between two processes of one machine that takes a
millisecond or two, however few numbers there are: it is the latency of gRPC (docs/benchmarks/README.md). A shorter step
is done sooner by a process that computes all of it:

    shared    [half][ exchange ][half][ exchange ][half][ exchange ]
    whole     [whole ][whole ][whole ][whole ][whole ]

The choice depends on the options alone, so all processes make the same one, and so does the next attempt.
"""

from qtj_contract.memory import Circuits

__all__ = ["takes_whole_steps"]

_SHORT = 1 << 20
"""Bytes of the states of all examples of a step: 12 qubits and 32 examples, for which one thread takes 2 ms."""


def takes_whole_steps(circuits: Circuits) -> bool:
    """Returns whether a step takes less time than an exchange between processes.

    Args:
        circuits: All circuits of a step, with the batch of all processes.
    """
    if circuits.tfq:  # a step takes 60 ms with the smallest circuits
        return False
    layers = 2 if circuits.buffers > 1 else 1  # each of the later ones has half of the gates
    state = circuits.amplitude_bytes << circuits.qubits
    return circuits.batch * circuits.filters * layers * state <= _SHORT
