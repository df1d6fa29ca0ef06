"""Random circuits on the engine and on Cirq's simulator: values, and slopes by exact derivatives.

    python -m tests.trainer.fuzz --circuits 20000 --seed 7

prints counts and the worst differences, and each circuit that differs, made small, as code to paste. `fuzz_layers.py`
has other comparisons: second derivatives, noise, and the drop-in module.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import cirq
import numpy as np
import sympy
from numpy.typing import NDArray

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import specified
from tests.trainer import differences
from tests.trainer.circuits import Case
from tests.trainer.gate_menu import Random, qubit_gates

__all__ = [
    "ENGINE",
    "SYMBOLS",
    "Comparison",
    "Counts",
    "fuzz",
    "gates_with_symbols",
    "matrix_of",
    "names_of",
    "numbers_for",
    "random_case",
    "run",
    "smallest",
    "times",
]

Array = NDArray[Any]

SYMBOLS = list(sympy.symbols("x0 x1 w0 w1 w2"))
_STEP = 0.006
"""Between points of a difference. A gate's matrix is a sum of waves of at most 60 radians for each unit of a symbol: it
leaves an error of 1e-11. Three copies of Y**(3.4 x) have 32."""
_MENU_LASTS = 500
"""Circuits that share the numbers of their gates; to make all gates anew takes as long as twenty circuits."""


class Comparison(NamedTuple):
    """What is compared with what.

    Attributes:
        most: The largest difference that may be, by what is compared.
        differences: How far a circuit on the product is from the reference. An UnsupportedError or a ValueError says
            that one of them refuses it.
        menu: Makes gates.
        draw: Makes a circuit of them.
    """

    most: Mapping[str, float]
    differences: Callable[[Case], Mapping[str, float]]
    menu: Callable[[Random], list[cirq.Gate]]
    draw: Callable[[Random, Sequence[cirq.Gate]], Case]

    def exceeded(self, found: Mapping[str, float]) -> bool:
        """Whether a difference is too large, or no number."""
        return not all(found[name] <= most for name, most in self.most.items())

    def fails(self, case: Case) -> bool:
        """Whether a circuit is not refused, and differs."""
        try:
            return self.exceeded(self.differences(case))
        except (UnsupportedError, ValueError):
            return False


@dataclass
class Counts:
    """What happened so far."""

    circuits: int = 0
    refused: int = 0
    gates: set[str] = field(default_factory=set)
    worst: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        worst = ", ".join(f"{name} {difference:.1e}" for name, difference in self.worst.items())
        return (f"{self.circuits} circuits, {self.refused} refused, {len(self.gates)} kinds of gates,"
                f" {len(self.failures)} failures; worst differences: {worst}")  # fmt: skip


def fuzz(comparison: Comparison, circuits: int, seed: int, *, report: Callable[[Counts], Any] = str) -> Counts:
    """Compares random circuits; `report` gets the counts now and then."""
    random, counts, menu = np.random.default_rng(seed), Counts(), list[cirq.Gate]()
    for number in range(circuits):
        if number % _MENU_LASTS == 0:
            report(counts)
            menu = comparison.menu(random)
        _compare(comparison, comparison.draw(random, menu), counts)
    return counts


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Takes operations and readouts away as long as the case still fails."""
    operations, readouts = list(case.circuit.all_operations()), list(case.readouts)
    operations = _fewest(operations, lambda kept: fails(replace(case, circuit=cirq.Circuit(kept))))
    case = replace(case, circuit=cirq.Circuit(operations))
    return replace(case, readouts=_fewest(readouts, lambda kept: bool(kept) and fails(replace(case, readouts=kept))))


def _fewest(items: Sequence[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    kept, size = list(items), max(len(items) // 2, 1)
    while True:
        for start in range(len(kept) - size, -1, -size):
            fewer = kept[:start] + kept[start + size :]
            if fails(fewer):
                kept = fewer
        if size == 1:
            return kept
        size //= 2


def _compare(comparison: Comparison, case: Case, counts: Counts) -> None:
    counts.circuits += 1
    try:
        found = comparison.differences(case)
    except (UnsupportedError, ValueError):
        counts.refused += 1
        return
    counts.gates |= {type(each.gate).__name__ for each in case.circuit.all_operations()}
    for name, difference in found.items():
        counts.worst[name] = max(counts.worst.get(name, 0.0), difference)
    if comparison.exceeded(found):
        small = smallest(case, comparison.fails)
        counts.failures.append(f"# differences {found}\ncircuit = {small.circuit!r}\nreadouts = {small.readouts!r}")


def gates_with_symbols(random: Random) -> list[cirq.Gate]:
    """Every unitary gate of Cirq with numbers, and with symbols."""
    return list(qubit_gates(random, SYMBOLS))


def random_case(random: Random, menu: Sequence[cirq.Gate]) -> Case:
    """A circuit on up to five qubits, with readouts."""
    qubits = _random_qubits(random, int(random.integers(1, 6)))
    operations: list[cirq.Operation] = [(cirq.Y ** random.uniform(-1, 1))(qubit) for qubit in qubits]
    while len(operations) < len(qubits) + random.integers(1, 12):
        gate = menu[random.integers(len(menu))]
        if gate.num_qubits() <= len(qubits):
            operations.append(
                _maybe_controlled(random, gate, [qubits[each] for each in random.permutation(len(qubits))])
            )
    operations += [(cirq.X ** random.uniform(-1, 1))(qubit) for qubit in qubits]
    return Case(cirq.Circuit(operations), list(_random_readouts(random, qubits)), SYMBOLS[:2], SYMBOLS[2:])


def _random_qubits(random: Random, many: int) -> list[cirq.Qid]:
    kinds = [cirq.LineQubit.range(many), cirq.GridQubit.rect(1, many), cirq.NamedQubit.range(many, prefix="n")]
    return list(kinds[random.integers(3)])


def _maybe_controlled(random: Random, gate: cirq.Gate, order: Sequence[cirq.Qid]) -> cirq.Operation:
    many = gate.num_qubits()
    operation, others = gate(*order[:many]), order[many : many + 2]
    if not others or random.random() > 1 / 4:
        return operation
    controls = others[: random.integers(1, len(others) + 1)]
    is_channel = not cirq.is_parameterized(gate) and not cirq.has_unitary(gate)
    kind = int if is_channel else [int, bool][random.integers(2)]  # Cirq's channels take bools for a mask
    try:
        return operation.controlled_by(*controls, control_values=[kind(random.integers(2)) for _ in controls])
    except (TypeError, ValueError):  # Cirq does not control it
        return operation


def _random_readouts(random: Random, qubits: Sequence[cirq.Qid]) -> Iterator[cirq.PauliSum]:
    for _ in range(random.integers(1, 4)):
        total = cirq.PauliSum()
        for _ in range(random.integers(1, 3)):
            paulis = {
                qubit: [cirq.X, cirq.Y, cirq.Z][random.integers(3)] for qubit in qubits if random.random() < 1 / 2
            }
            total += float(random.uniform(-1, 1)) * cirq.PauliString(paulis)
        yield total


def numbers_for(case: Case) -> Array:
    """Numbers for the symbols; those of one circuit are always the same."""
    return np.random.default_rng(len(case.circuit)).uniform(-2, 2, len(SYMBOLS))


def _differences(case: Case) -> dict[str, float]:
    at, found = numbers_for(case), dict[str, float]()
    values, slopes = exact(case, at)
    for precision in ("single", "double"):
        own, its_slopes = _by_the_engine(case, at, "" if precision == "single" else precision)
        found[f"{precision} values"] = float(np.abs(own - values).max())
        size = max(1.0, np.abs(slopes).max(initial=0))
        found[f"{precision} slopes"] = float(np.abs(its_slopes - slopes).max() / size)
    return found


def _by_the_engine(case: Case, at: Array, variant: str) -> tuple[Array, Array]:
    asked = specified(case.circuit, case.readouts, case.inputs, case.weights)
    engine = Engine(fused_circuit(asked).plan(Tuning(lanes(variant))), variant=variant)
    inputs, weights = at[np.newaxis, : len(case.inputs)], at[len(case.inputs) :]
    slopes = engine.gradients(inputs, weights, np.ones((1, len(case.readouts))))
    return engine.values(inputs, weights)[0], np.concatenate([each.ravel() for each in slopes])


def exact(case: Case, at: Array) -> tuple[Array, Array]:
    """Values by Cirq's simulator, and the slopes of their sum by the product rule over its gates' matrices."""
    qubits = sorted(case.circuit.all_qubits() | {qubit for each in case.readouts for qubit in each.qubits})
    place = {qubit: index for index, qubit in enumerate(qubits)}
    numbers = dict(zip(map(str, SYMBOLS), at.tolist(), strict=True))
    simulated = cirq.Simulator(dtype=np.complex128).simulate(case.circuit, numbers, qubits).final_state_vector
    values = [each.expectation_from_state_vector(simulated, place).real for each in case.readouts]
    zero = np.zeros((1 + len(SYMBOLS), *[2] * len(qubits)), complex)
    zero[(0,) * zero.ndim] = 1
    states = zero  # the state, and its derivative by each symbol
    for operation in case.circuit.all_operations():
        states = _differentiated(operation, numbers, states, [1 + place[qubit] for qubit in operation.qubits])
    total = sum(case.readouts, cirq.PauliSum()).matrix(qubits) @ states[0].ravel()
    return np.array(values), np.array([2 * np.vdot(each.ravel(), total).real for each in states[1:]])


def _differentiated(operation: cirq.Operation, at: dict[str, float], states: Array, axes: list[int]) -> Array:
    after = times(matrix_of(operation, at), states, axes)
    for index, symbol in enumerate(map(str, SYMBOLS)):
        if symbol in names_of(operation):
            slope = differences.first(partial(_moved, operation, at, symbol), _STEP)
            after[1 + index] += times(slope, states[:1], axes)[0]
    return after


def _moved(operation: cirq.Operation, at: dict[str, float], symbol: str, by: float) -> Array:
    return matrix_of(operation, {**at, symbol: at[symbol] + by})


def names_of(operation: cirq.Operation) -> set[str]:
    """The names of its symbols; all names where Cirq forgets them."""
    named = set(cirq.parameter_names(operation))
    return named or (set(map(str, SYMBOLS)) if cirq.is_parameterized(operation) else named)


def matrix_of(operation: cirq.Operation, at: dict[str, float]) -> Array:
    """What Cirq's simulator does to the identity."""
    many = len(operation.qubits)
    columns = np.eye(2**many, dtype=complex).reshape([2] * many + [-1])
    given = cirq.ApplyUnitaryArgs(columns, np.empty_like(columns), range(many))
    return np.array(cirq.apply_unitary(cirq.resolve_parameters(operation, at), given)).reshape(2**many, -1)


def times(matrix: Array, states: Array, axes: list[int]) -> Array:
    """Applies a matrix to states, complex128 (states, 2, ..., 2), on these of its axes."""
    many = len(axes)
    product = np.tensordot(matrix.reshape([2] * 2 * many), states, (range(many, 2 * many), axes))
    return np.moveaxis(product, range(many), axes)


ENGINE = Comparison(
    {"single values": 1e-5, "single slopes": 1e-5, "double values": 1e-10, "double slopes": 1e-10},
    _differences, gates_with_symbols, random_case,
)  # fmt: skip
"""Slopes relative to the largest one, or to 1."""


def run(comparisons: Mapping[str, Comparison], about: str | None) -> int:
    """Runs one of these comparisons from a command line; 1 if a circuit differs."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=list(comparisons), default=next(iter(comparisons)))
    parser.add_argument("--circuits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(np.random.default_rng().integers(1 << 30)))
    asked = parser.parse_args()
    print(f"{asked.what}, seed {asked.seed}, Cirq {cirq.__version__}", flush=True)
    warnings.simplefilter("ignore")
    began = monotonic()
    counts = fuzz(comparisons[asked.what], asked.circuits, asked.seed, report=lambda so_far: print(so_far, flush=True))
    print(*counts.failures, f"{counts}; {monotonic() - began:.0f} s", sep="\n")
    return bool(counts.failures)


if __name__ == "__main__":
    sys.exit(run({"engine": ENGINE}, __doc__))
