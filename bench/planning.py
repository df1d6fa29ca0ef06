"""`make bench-planning`: planning circuits beside building them and simulating them once in Cirq, in one process.

Many random circuits of one shape are planned one by one, and then as one circuit with a symbol for each angle.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import cirq
import numpy as np
import sympy
from numpy.typing import NDArray

from qtj_simulator import expectation_engine

_LAYERS = 60
_TURNS = (cirq.rx, cirq.ry, cirq.rz)


def circuit(qubits: int, angles: Sequence[float | sympy.Symbol]) -> cirq.Circuit:
    """Layers of rotations about random axes and of CZ between neighbours; an angle for each rotation."""
    line, chance, made = cirq.LineQubit.range(qubits), random.Random(1), cirq.Circuit()
    for layer in range(0, len(angles), qubits):
        turns = zip(line, angles[layer : layer + qubits], strict=True)
        made.append(chance.choice(_TURNS)(angle)(qubit) for qubit, angle in turns)
        made.append(cirq.CZ(*pair) for pair in pairwise(line))
    return made


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one run."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def one_by_one(qubits: int, angles: NDArray[np.float64]) -> None:
    """A plan for each circuit."""
    for row in angles:
        engine = expectation_engine(circuit(qubits, row.tolist()), cirq.Z(cirq.LineQubit(0)), threads=1)
        engine.values(np.zeros((1, 0)), np.zeros(0))


def together(qubits: int, angles: NDArray[np.float64]) -> None:
    """One plan, and an example for each circuit."""
    symbols = sympy.symbols(f"a:{angles.shape[1]}")
    engine = expectation_engine(circuit(qubits, symbols), cirq.Z(cirq.LineQubit(0)), inputs=symbols, threads=1)
    engine.values(angles, np.zeros(0))


def row(qubits: int, circuits: int) -> None:
    """Prints the times for circuits of one size."""
    angles = np.random.default_rng(1).uniform(-np.pi, np.pi, (circuits, _LAYERS * qubits))
    symbols = sympy.symbols(f"a:{angles.shape[1]}")
    made, readout = circuit(qubits, symbols), cirq.Z(cirq.LineQubit(0))
    values = dict(zip(symbols, angles[0], strict=True))
    calls: dict[str, Callable[[], object]] = {
        "build": lambda: circuit(qubits, symbols),
        "plan": lambda: expectation_engine(made, readout, weights=symbols, threads=1),
        "cirq": lambda: cirq.Simulator().simulate(made, values),
        "one by one": lambda: one_by_one(qubits, angles),
        "together": lambda: together(qubits, angles),
    }
    times = {name: min(seconds(call) for _ in range(2)) for name, call in calls.items()}
    shown = "  ".join(f"{name} {1e3 * each:.0f}" for name, each in times.items())
    print(f"{qubits} qubits, {_LAYERS} layers, {circuits} circuits, in ms of processor time: {shown}", flush=True)
    print(f"  plan / cirq {times['plan'] / times['cirq']:.2f}")
    print(f"  one by one / together {times['one by one'] / times['together']:.1f}", flush=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qubits", type=int, nargs="+", default=[4, 8, 12, 16])
    parser.add_argument("--circuits", type=int, default=40)
    options = parser.parse_args()
    for qubits in options.qubits:
        row(qubits, options.circuits)


if __name__ == "__main__":
    main()
