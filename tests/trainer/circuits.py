"""Any circuit, and what Cirq makes of it in double precision: for tests of simulators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cirq
import numpy as np
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from qtj_simulator.specification import Specification

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A circuit with its readouts and the meaning of its symbols."""

    circuit: cirq.Circuit
    readouts: Sequence[cirq.PauliString | cirq.PauliSum]
    inputs: Sequence[sympy.Symbol]
    weights: Sequence[sympy.Symbol]

    @property
    def specification(self) -> Specification:
        return Specification(self.circuit, tuple(self.readouts), tuple(self.inputs), tuple(self.weights))

    @property
    def qubits(self) -> int:
        return len(self.circuit.all_qubits() | {qubit for readout in self.readouts for qubit in readout.qubits})

    def values(self, inputs: Array, weights: Array) -> Array:
        """Expectation values (batch, readouts) by Cirq."""
        simulator = cirq.Simulator(dtype=np.complex128)
        qubits = self.circuit.all_qubits() | {qubit for readout in self.readouts for qubit in readout.qubits}
        names = [*self.inputs, *self.weights]
        rows = [dict(zip(names, [*row, *weights], strict=True)) for row in inputs]
        states = [
            simulator.simulate(self.circuit, cirq.ParamResolver(row), sorted(qubits)).final_state_vector for row in rows
        ]
        places = {qubit: index for index, qubit in enumerate(sorted(qubits))}
        sums = [cirq.PauliSum.from_pauli_strings([readout] if isinstance(readout, cirq.PauliString) else list(readout))
                for readout in self.readouts]  # fmt: skip
        return np.array([[each.expectation_from_state_vector(state, places).real for each in sums] for state in states])

    def slope(self, inputs: Array, weights: Array, upstream: Array, along: tuple[Array, Array]) -> float:
        """The derivative of sum(upstream * values) in a direction, by a five-point difference (error of order h^4)."""
        step = 1e-3

        def loss(times: float) -> float:
            shift = times * step
            return float(np.sum(upstream * self.values(inputs + shift * along[0], weights + shift * along[1])))

        return (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * step)

    def numbers(self, batch: int) -> tuple[Array, Array, Array]:
        """Inputs, weights and upstream, the same ones for the same batch."""
        random = np.random.default_rng(batch)
        inputs, weights = random.uniform(-2, 2, (batch, len(self.inputs))), random.uniform(-2, 2, len(self.weights))
        return inputs, weights, random.normal(size=(batch, len(self.readouts)))


ONE_QUBIT = [cirq.X, cirq.Y, cirq.Z, cirq.H]
TWO_QUBITS = [cirq.CZ, cirq.CNOT, cirq.SWAP, cirq.ISWAP, cirq.XX, cirq.YY, cirq.ZZ]
FIXED_TWO = [cirq.FSimGate(0.3, 0.7), cirq.CNOT, cirq.CZ, cirq.SQRT_ISWAP,
             cirq.MatrixGate(cirq.testing.random_unitary(4, random_state=5))]  # fmt: skip
FIXED_ONE = [cirq.T, cirq.S, cirq.H, cirq.PhasedXZGate(x_exponent=0.3, z_exponent=0.2, axis_phase_exponent=0.1)]
PAULIS = [cirq.X, cirq.Y, cirq.Z]


@st.composite
def exponents(draw: st.DrawFn, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    """A linear function of one or two symbols."""
    terms = draw(st.lists(st.sampled_from(symbols), min_size=1, max_size=2, unique=True))
    factors = [draw(st.sampled_from([1, -1, 0.5, 1.5])) for _ in terms]
    return sum((factor * term for factor, term in zip(factors, terms, strict=True)), draw(st.sampled_from([0, 0.25])))


@st.composite
def operations(  # noqa: C901, PLR0911  a menu
    draw: st.DrawFn, qubits: list[cirq.Qid], symbols: Sequence[sympy.Symbol]
) -> cirq.Operation:
    """Any gate that the engine promises to take."""
    order = draw(st.permutations(qubits))
    kinds = ["one", "two", "rotation", "fixed one", "fixed two", "controlled", "phased", "phased iswap", "three"]
    kind = draw(st.sampled_from(kinds))
    if len(qubits) < 3 and kind == "three":
        kind = "one"
    if len(qubits) < 2 and kind in {"two", "fixed two", "controlled", "phased iswap"}:
        kind = "one"
    power = draw(exponents(symbols))
    match kind:
        case "one":
            return (draw(st.sampled_from(ONE_QUBIT)) ** power)(order[0])
        case "two":
            return (draw(st.sampled_from(TWO_QUBITS)) ** power)(*order[:2])
        case "rotation":
            return draw(st.sampled_from([cirq.rx, cirq.ry, cirq.rz]))(power)(order[0])
        case "fixed one":
            return draw(st.sampled_from(FIXED_ONE))(order[0])
        case "fixed two":
            return draw(st.sampled_from(FIXED_TWO))(*order[:2])
        case "controlled":
            values = [draw(st.integers(0, 1))]
            return (cirq.Y**power)(order[0]).controlled_by(order[1], control_values=values)
        case "phased iswap":
            phase = draw(st.sampled_from(symbols))  # of a sum, Cirq would ask SymPy for a second whether it is constant
            return cirq.PhasedISwapPowGate(phase_exponent=phase, exponent=power)(*order[:2])
        case "phased":
            return cirq.PhasedXPowGate(phase_exponent=0.3, exponent=power)(order[0])
        case _:
            return cirq.CCX(*order[:3])


@st.composite
def pauli_sums(draw: st.DrawFn, qubits: list[cirq.Qid]) -> cirq.PauliSum:
    """A Hermitian sum of up to three Pauli strings of any length."""
    total = cirq.PauliSum()
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(st.permutations(qubits))[: draw(st.integers(0, len(qubits)))]
        paulis = {qubit: draw(st.sampled_from(PAULIS)) for qubit in chosen}
        total += draw(st.sampled_from([1.0, -0.5, 2.0])) * cirq.PauliString(paulis)
    return total


@st.composite
def cases(draw: st.DrawFn, at_most: int = 12) -> Case:
    """A circuit of a few dozen gates, with readouts on any qubits, and symbols that repeat or do not occur."""
    qubits: list[cirq.Qid] = list(cirq.LineQubit.range(draw(st.integers(1, at_most))))
    inputs, weights = list(sympy.symbols("x0:3")), list(sympy.symbols("w0:5"))
    many = draw(st.integers(1, 4 * len(qubits)))
    circuit = cirq.Circuit(draw(operations(qubits, [*inputs, *weights])) for _ in range(many))
    readouts = [draw(pauli_sums(qubits)) for _ in range(draw(st.integers(1, 3)))]
    return Case(circuit, readouts, inputs, weights)
