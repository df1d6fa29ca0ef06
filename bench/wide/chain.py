"""The circuit: an ansatz for the energy of an Ising chain in a transverse field, as public benchmarks have it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.case import Gate


class Chain(NamedTuple):
    """H on each qubit; then layers of exp(-i pi/2 p ZZ) on neighbours and exp(-i pi/2 p X), each with its own p."""

    qubits: int
    layers: int

    @property
    def parameters(self) -> NDArray[Any]:
        """Half turns, one for each gate: not so small that a simulator could leave any of them out."""
        return np.random.default_rng(0).uniform(0.1, 0.5, self.layers * (2 * self.qubits - 1))

    def gates(self) -> Iterator[Gate]:
        """All gates after H, layer by layer; each has the next parameter."""
        on_pairs = [("zz", pair) for pair in pairwise(range(self.qubits))]
        layer = [*on_pairs, *(("x", (qubit,)) for qubit in range(self.qubits))]
        for number, (name, qubits) in enumerate(layer * self.layers):
            yield Gate(name, qubits, number)

    def terms(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The strings of the energy. Each has the factor -1."""
        yield from (("zz", pair) for pair in pairwise(range(self.qubits)))
        yield from (("x", (qubit,)) for qubit in range(self.qubits))
