"""`python -m bench.noise`: noisy circuits, beside TensorFlow Quantum's NoisyPQC and Cirq's simulators.

One layer of the hybrid QCNN with a channel on each qubit after each moment. All run in one process, on one thread, in
turns of at least 0.2 seconds. The figures are the processor time of the shortest call of each, so other programs on the
machine count as little as they can. The last line sums up: the least ratio to each of the other two that run
trajectories.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case

_TURN_SECONDS = 0.2
_CIRQ_TRAJECTORIES = 5
"""Cirq's time is proportional to their number, so it runs few and the time is scaled."""

Run = Callable[[], Any]


def circuits(qubits: int) -> Iterator[tuple[str, Any, Any]]:
    """Yields name, noisy circuit and readouts: mixtures of unitaries, and channels that depend on the state."""
    import cirq

    from bench.simulators.cirq_circuit import cirq_circuit

    case = Case(qubits, 1, 1)
    circuit, readouts, turns, angles = cirq_circuit(case)
    values = dict(zip(map(str, angles), map(float, case.data()["parameters"]), strict=True))
    bound = cirq.resolve_parameters(circuit, {**values, **dict.fromkeys(map(str, turns), 0.5)})
    for channel in (cirq.depolarize(0.01), cirq.amplitude_damp(0.01)):
        made = cirq.Circuit(operation.untagged for operation in bound.with_noise(channel).all_operations())
        yield str(channel), made, readouts


def ours(circuit: Any, readouts: Any, trajectories: int) -> Run:
    import tensorflow as tf

    from qtj_simulator import NoisyPQC

    layer, inputs = NoisyPQC(circuit, readouts, trajectories=trajectories), tf.zeros((1, 0))
    call = tf.function(lambda: layer(inputs))
    return lambda: call().numpy()


def tfq(circuit: Any, readouts: Any, trajectories: int) -> Run:
    import cirq
    import sympy
    import tensorflow as tf
    import tensorflow_quantum as tfq

    # This layer wants something to learn.
    learned = circuit + cirq.Circuit(cirq.rz(sympy.Symbol("a"))(min(circuit.all_qubits())))
    layer = tfq.layers.NoisyPQC(learned, readouts, repetitions=trajectories, sample_based=False)
    inputs = tfq.convert_to_tensor([cirq.Circuit()])
    call = tf.function(lambda: layer(inputs))
    return lambda: call().numpy()


def cirq_trajectories(circuit: Any, readouts: Any, _: int) -> Run:
    import cirq

    simulator = cirq.Simulator()
    return lambda: [
        simulator.simulate_expectation_values(circuit, readouts) for _ in range(_CIRQ_TRAJECTORIES)
    ]  # fmt: skip


def cirq_density(circuit: Any, readouts: Any, _: int) -> Run:
    import cirq

    simulator = cirq.DensityMatrixSimulator()
    return lambda: simulator.simulate_expectation_values(circuit, readouts)


def measured(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """The least processor time of each, in seconds, over rounds in which they take turns."""
    least = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            least[name] = min(least[name], *_turn(run))
    return least


def _turn(run: Run) -> Iterator[float]:
    """Yields the processor time of each call of a turn, in seconds."""
    end = time.process_time() + _TURN_SECONDS
    while (begin := time.process_time()) < end:
        run()
        yield time.process_time() - begin


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--qubits", type=int, default=8)
    parser.add_argument("--trajectories", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    makers = {"ours": ours, "tfq": tfq, "cirq": cirq_trajectories, "density matrix": cirq_density}
    ratios: dict[str, float] = {"tfq": float("inf"), "cirq": float("inf")}
    for channel, circuit, readouts in circuits(options.qubits):
        runs = {name: make(circuit, readouts, options.trajectories) for name, make in makers.items()}
        seconds = measured(runs, options.rounds)
        seconds["cirq"] *= options.trajectories / _CIRQ_TRAJECTORIES
        print(channel, ", ".join(f"{name} {1000 * each:.4g} ms" for name, each in seconds.items()), flush=True)
        ratios = {name: min(ratio, seconds[name] / seconds["ours"]) for name, ratio in ratios.items()}
    least = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
    print(f"noise: {options.qubits} qubits, {options.trajectories} trajectories, least ratios: {least}")


if __name__ == "__main__":
    main()
