"""`make bench-faces`: what PyTorch, JAX and PennyLane add to the engine's own calls.

All run in this process, on one thread, in turns; times are minima over the rounds. A step is the values of a batch and
their gradient by the weights. PennyLane builds the circuit at each step, as its users write it.
"""

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.specification import Specification

LAYERS = 2
BATCHES = {4: 1, 8: 32, 12: 32, 16: 4, 20: 1}
_IN_A_ROW = 4
"""A training calls one framework again and again, and the first call after another one finds no code in the caches."""

Array = NDArray[Any]
Step = Callable[[], Array]


def case_of(qubits: int) -> Specification:
    """A classifier: an input on each qubit, and layers of two rotations of each qubit and CZ of all neighbours."""
    import cirq
    import sympy

    line = cirq.LineQubit.range(qubits)
    inputs, weights = sympy.symbols(f"x0:{qubits}"), sympy.symbols(f"w0:{2 * qubits * LAYERS}")
    circuit = cirq.Circuit(cirq.rx(angle)(qubit) for angle, qubit in zip(inputs, line, strict=True))
    for first in range(0, len(weights), 2 * qubits):
        circuit.append(cirq.ry(weights[first + place])(qubit) for place, qubit in enumerate(line))
        circuit.append(cirq.rz(weights[first + qubits + place])(qubit) for place, qubit in enumerate(line))
        circuit.append(cirq.CZ(*pair) for pair in pairwise(line))
    return Specification(circuit, tuple(cirq.Z(qubit) for qubit in line), inputs, weights)


def engine(case: Specification, rows: Array, weights: Array) -> Step:
    """The engine's own two calls."""
    from qtj_simulator import expectation_engine

    made = expectation_engine(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights, threads=1)
    upstream = np.ones((len(rows), len(case.readouts)))

    def step() -> Array:
        made.values(rows, weights)
        return made.gradients(rows, weights, upstream)[1]

    return step


def torch(case: Specification, rows: Array, weights: Array) -> Step:
    """The function of PyTorch."""
    import torch

    from qtj_simulator.torch import expectation_function

    torch.set_num_threads(1)
    function = expectation_function(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights, threads=1)
    given, angles = (torch.tensor(each, dtype=torch.float32) for each in (rows, weights))
    angles.requires_grad_()

    def step() -> Array:
        angles.grad = None
        function(given, angles).sum().backward()
        found: Array = angles.grad.numpy()
        return found

    return step


def jax(case: Specification, rows: Array, weights: Array) -> Step:
    """The function of JAX, compiled."""
    import jax
    import jax.numpy as jnp

    from qtj_simulator.jax import expectation_function

    function = expectation_function(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights, threads=1)
    compiled = jax.jit(jax.value_and_grad(lambda angles, given: function(given, angles).sum()))
    given, angles = (jnp.array(each, jnp.float32) for each in (rows, weights))
    return lambda: np.asarray(compiled(angles, given)[1])


def pennylane(case: Specification, rows: Array, weights: Array) -> Step:
    """The device of PennyLane, with the interface of its own NumPy."""
    import pennylane as qml

    qubits = len(case.readouts)

    @qml.qnode(qml.device("qtj.simulator", wires=qubits, dtype="float32", threads=1))  # type: ignore[untyped-decorator]
    def circuit(given: Any, angles: Any) -> Any:
        for wire in range(qubits):
            qml.RX(given[:, wire], wire)
        for first in range(0, len(weights), 2 * qubits):
            for wire in range(qubits):
                qml.RY(angles[first + wire], wire)
            for wire in range(qubits):
                qml.RZ(angles[first + qubits + wire], wire)
            for wire in range(qubits - 1):
                qml.CZ([wire, wire + 1])
        return [qml.expval(qml.Z(wire)) for wire in range(qubits)]

    slope = qml.grad(lambda angles: sum(qml.numpy.sum(each) for each in circuit(rows, angles)))
    angles = qml.numpy.array(weights, requires_grad=True)
    return lambda: np.asarray(slope(angles))


FACES = {"torch": torch, "jax": jax, "pennylane": pennylane}


def times_of(steps: list[Step], rounds: int, seconds: float) -> list[float]:
    """Runs them in turns, at least `rounds` times, and returns the least time of each."""
    least, end = [float("inf")] * len(steps), time.perf_counter() + seconds
    while rounds > 0 or time.perf_counter() < end:
        rounds -= 1
        for place, step in enumerate(steps):
            for _ in range(_IN_A_ROW):
                begin = time.perf_counter()
                step()
                least[place] = min(least[place], time.perf_counter() - begin)
    return least


def row(qubits: int, names: list[str], rounds: int, seconds: float) -> None:
    """Measures one size and prints it; the gradients must agree."""
    case, batch, random = case_of(qubits), BATCHES[qubits], np.random.default_rng(0)
    rows, weights = random.uniform(-2, 2, (batch, qubits)), random.uniform(-2, 2, len(case.weights))
    steps = [make(case, rows, weights) for make in (engine, *(FACES[name] for name in names))]
    first, *others = [step() for step in steps]
    for name, found in zip(names, others, strict=True):
        np.testing.assert_allclose(found, first, atol=1e-3, err_msg=name)
    own, *more = times_of(steps, rounds, seconds)
    columns = (
        f"{name} x{each / own:.2f} (+{1e6 * (each - own):.0f} us)" for name, each in zip(names, more, strict=True)
    )
    print(f"{qubits} qubits, batch {batch}: engine {1e6 * own:.0f} us, {', '.join(columns)}", flush=True)


def main() -> None:
    """Measures and prints. A framework that is not installed is left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qubits", type=int, nargs="+", choices=BATCHES, default=list(BATCHES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="for each size")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    names = [name for name in FACES if find_spec(name)]
    for qubits in options.qubits:
        row(qubits, names, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
