"""What is measured: one training gradient of the hybrid QCNN, described for any simulator.

The loss is the mean over a batch of sum_k c_k <Z_k>. An example is the cluster state, one qubit turned by rx(theta).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PER_LAYER = 21


class Gate(NamedTuple):
    """exp(-i pi/2 sign p P) for a Pauli product P such as "x" or "zz" and parameter p; or "cnot"."""

    name: str
    qubits: tuple[int, ...]
    parameter: int = -1
    sign: int = 1


class Case(NamedTuple):
    """One size of the problem."""

    qubits: int
    layers: int
    batch: int

    @property
    def readouts(self) -> range:
        """The qubits that Z is measured on."""
        return range(self.qubits // 2, self.qubits)

    def data(self) -> dict[str, NDArray[Any]]:
        """Angles and turned qubits of the examples, parameters in half turns, coefficients of the readouts."""
        random = np.random.default_rng(0)
        return {
            "theta": random.uniform(-np.pi, np.pi, self.batch),
            "qubit": random.integers(0, self.qubits, self.batch),
            "parameters": random.uniform(0, 2, PER_LAYER * self.layers),
            "coefficients": random.normal(size=len(self.readouts)),
        }

    def gates(self) -> Iterator[Gate]:
        """Convolution and pooling, layer by layer, after data encoding."""
        n = self.qubits
        for first in range(0, PER_LAYER * self.layers, PER_LAYER):
            pairs = [(a, a + 1) for a in range(0, n - 1, 2)] + [(a, (a + 1) % n) for a in range(1, n, 2)]
            for a, b in pairs:
                yield from _turn(a, first)
                yield from _turn(b, first + 3)
                for index, name in enumerate(("zz", "yy", "xx")):
                    yield Gate(name, (a, b), first + 6 + index)
                yield from _turn(a, first + 9)
                yield from _turn(b, first + 12)
            for source, sink in zip(range(n // 2), self.readouts, strict=False):
                basis = list(_turn(sink, first + 15))
                yield from [*basis, *_turn(source, first + 18), Gate("cnot", (source, sink))]
                yield from (gate._replace(sign=-1) for gate in reversed(basis))


def _turn(qubit: int, first: int) -> Iterator[Gate]:
    for index, name in enumerate("xyz"):
        yield Gate(name, (qubit,), first + index)
