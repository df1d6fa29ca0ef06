"""The engine on the first GPU beside the engine on all cores: `make bench-gpu`.

It prints, for each size, the time of a gradient on both, their ratio beside the goal, and how far the gradients differ.
The roofline is how fast the card moves states by the passes of the plan, how fast it computes, what share of its peaks
that is, and which of both is the larger share.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from bench.roofline import operations
from qtj_simulator.engines import default_threads
from qtj_simulator.fused.cuda.driver import DRIVER, Card
from qtj_simulator.fused.cuda.engine import CudaEngine, plan_for_card
from qtj_simulator.fused.cuda.trust import trusted_card
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import FusedCircuit, fused_circuit
from qtj_simulator.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit

Result = TypeVar("Result")


class Size(NamedTuple):
    """What is measured, and the ratio that is the goal; 0 where the processor is not measured."""

    qubits: int
    batch: int
    goal: float


SIZES = [Size(8, 16384, 5), Size(12, 1024, 5), Size(23, 32, 16), Size(30, 1, 0)]


def main() -> None:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most-qubits", type=int, default=30, help="leave larger sizes out")
    parser.add_argument("--rounds", type=int, default=5, help="of which the fastest counts")
    options = parser.parse_args()
    begin = time.perf_counter()
    card = trusted_card(os.environ.get("QTJ_CUDA_DRIVER", DRIVER), 32)
    print(f"{card.name}; compiled, and compared with the processor, in {time.perf_counter() - begin:.1f} s")
    print(f"its peaks by clocks and widths: {card.bandwidth / 1e9:.0f} GB/s, {card.peak / 1e12:.1f} TFLOP/s")
    for size in SIZES:
        if size.qubits <= options.most_qubits:
            print(line(card, size, options.rounds), flush=True)


def line(card: Card, size: Size, rounds: int) -> str:
    """Measures one size."""
    hybrid = hybrid_circuit(size.qubits)
    circuit = fused_circuit(specified(hybrid.circuit, hybrid.readouts, hybrid.inputs, hybrid.weights))
    random = np.random.default_rng(0)
    inputs, weights = random.uniform(-2, 2, (size.batch, len(hybrid.inputs))), random.uniform(0, 2, len(hybrid.weights))
    upstream = random.normal(size=(size.batch, len(hybrid.readouts)))
    on_card = CudaEngine(plan_for_card(circuit), card)
    seconds, (_, found) = measured(lambda: on_card.gradients(inputs, weights, upstream), rounds)
    name = f"{size.qubits} qubits, {size.batch} examples: {1000 * seconds:.2f} ms on the GPU"
    name += f", {roofline(card, circuit, size.batch, seconds)}"
    if not size.goal:
        return name
    engine = Engine(*circuit.plans(lanes()), threads=default_threads())
    other, (_, expected) = measured(lambda: engine.gradients(inputs, weights, upstream), rounds)
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    return (
        f"{name}, {1000 * other:.2f} ms on {default_threads()} threads: {other / seconds:.2f} times as fast"
        f" (goal: {size.goal:g}); gradients differ by {difference:.1g}"
    )


def roofline(card: Card, circuit: FusedCircuit, batch: int, seconds: float) -> str:
    """What a gradient makes of the card."""
    rates = moved(circuit, batch) / seconds, batch * operations(plan_for_card(circuit)) / seconds
    peaks = max(card.bandwidth, 1), max(card.peak, 1)  # a virtual card may not tell its clocks
    memory, arithmetic = rates[0] / peaks[0], rates[1] / peaks[1]
    bound = "memory" if memory > arithmetic else "arithmetic"
    return (
        f"{rates[0] / 1e9:.0f} GB/s ({memory:.0%}) and {rates[1] / 1e12:.2f} TFLOP/s ({arithmetic:.0%}): by its {bound}"
    )


def moved(circuit: FusedCircuit, batch: int) -> int:
    """Bytes that a gradient reads and writes in the memory of the card: a pass reads and writes each state once."""
    plan = plan_for_card(circuit)
    return (2 + 4) * len(plan.passes) * batch * 8 << circuit.qubits


def measured(call: Callable[[], Result], rounds: int) -> tuple[float, Result]:
    """The time of the fastest call after a first one, and what it returned."""
    result, fastest = call(), float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        result = call()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest, result


if __name__ == "__main__":
    main()
