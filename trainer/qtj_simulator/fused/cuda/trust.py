"""A card is compared with the processor before its first use in a process, by a few random circuits."""

from functools import cache

import cirq
import numpy as np
import sympy

from qtj_simulator.fused.cuda.compiler import UnusableError
from qtj_simulator.fused.cuda.driver import Card
from qtj_simulator.fused.cuda.engine import CudaEngine, plan_for_card
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import FusedCircuit, fused_circuit
from qtj_simulator.specification import specified

__all__ = ["compare", "opened_card", "trusted_card"]

_CLOSE = {32: 1e-4, 64: 1e-9}
"""How far values and gradients, which are about 1, may differ, by the bits of a number."""
_SIZES = ((3, None), (6, 4), (7, 3))
"""Qubits, and those of a tile: one tile, and several in several passes."""
_BATCH = 5


@cache
def opened_card(driver: str, number: int) -> Card:
    """Returns a card, opened once in a process."""
    return Card(driver, number=number)


@cache
def trusted_card(driver: str, bits: int, number: int = 0) -> Card:
    """Returns a card, which computes what the processor does.

    Args:
        driver: The library of the driver.
        bits: The precision that is compared: 32 or 64.
        number: Which of the cards that this process sees.

    Raises:
        UnusableError: If there is none, or it computes something else.
    """
    card = opened_card(driver, number)
    compare(card, bits)
    return card


def compare(card: Card, bits: int) -> None:
    """Compares a card with the processor.

    Raises:
        UnusableError: If it computes something else, or fails.
    """
    try:
        # NumPy's maximum is not a number if any of them is none; Python's may be another one.
        difference = np.max([_difference(card, bits, *size, seed) for seed, size in enumerate(_SIZES)])
    except MemoryError as problem:
        raise UnusableError(f"the memory of {card.name} is full") from problem
    if not difference < _CLOSE[bits]:
        raise UnusableError(f"{card.name} computes other numbers than the processor: they differ by {difference:.1g}")


def _difference(card: Card, bits: int, qubits: int, tile_bits: int | None, seed: int) -> float:
    """The largest difference of values and gradients of a random circuit."""
    circuit, random = _circuit(qubits, seed), np.random.default_rng(seed)
    engines = (
        CudaEngine(plan_for_card(circuit, bits=bits, tile_bits=tile_bits), card, bits=bits),
        Engine(*circuit.plans(lanes("double")), variant="double"),
    )
    inputs, weights = random.uniform(-2, 2, (_BATCH, len(circuit.inputs))), random.uniform(-2, 2, len(circuit.weights))
    upstream = random.normal(size=(_BATCH, len(circuit.observables.offsets)))
    found, expected = (
        [engine.values(inputs, weights), *engine.gradients(inputs, weights, upstream)] for engine in engines
    )
    return float(np.max([np.abs(one - other).max() for one, other in zip(found, expected, strict=True)]))


def _circuit(qubits: int, seed: int) -> FusedCircuit:
    """Rotations by data and weights, gates on random pairs, and readouts on one, two and three qubits."""
    random, line = np.random.default_rng(seed), cirq.LineQubit.range(qubits)
    inputs, weights = sympy.symbols(f"x0:{qubits}"), sympy.symbols("w0:4")
    circuit = cirq.Circuit(cirq.H.on_each(*line))
    for _ in range(3):
        circuit += [cirq.rx(angle)(qubit) for angle, qubit in zip(inputs, line, strict=True)]
        pairs = random.permutation(qubits)[: qubits // 2 * 2].reshape(-1, 2)
        for first, second in [(line[a], line[b]) for a, b in pairs]:
            one, other = random.choice(len(weights), 2)
            circuit += [cirq.ZZ(first, second) ** weights[one], cirq.Y(second) ** (weights[other] / 2)]
            circuit += cirq.ISWAP(second, first) ** weights[other]
    readouts = [
        cirq.Z(line[0]),
        cirq.X(line[1]) * cirq.Y(line[2]) + 0.5,
        cirq.X(line[0]) * cirq.Y(line[1]) * cirq.Z(line[2]),
    ]
    return fused_circuit(specified(circuit, readouts, inputs, weights))
