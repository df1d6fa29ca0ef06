"""What a gate says of itself is compared with what Cirq's simulator does."""

from collections.abc import Iterator, Sequence
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from cirq.circuits.qasm_output import QasmUGate
from numpy.typing import NDArray

from qtj_simulator import PQC, NoisyPQC
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.fused.reading import elementary
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.noise.channels import channel_of
from qtj_simulator.operations import parameter_names
from tests.trainer.circuits import Case
from tests.trainer.noisy_circuits import exact_values

LINE = cirq.LineQubit.range(3)
FIRST, SECOND, THIRD = LINE
A = sympy.Symbol("a")
ANGLES = [0.3, 1.1, -2.0, 0.7, 2.9, -1.3, 0.2, 1.9]
ORDERS = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)]
PREPARED = [cirq.ry(0.7)(FIRST), cirq.rx(1.3)(SECOND), cirq.ry(-2.1)(THIRD)]
TURNED = [cirq.ry(0.4)(FIRST), cirq.H(SECOND), cirq.rx(0.9)(THIRD)]


def check(*operations: cirq.Operation) -> None:
    """The engine in double precision has the values of Cirq's simulator."""
    readouts = [pauli(qubit) * 1.0 for qubit in LINE for pauli in (cirq.X, cirq.Y, cirq.Z)]
    weights = sorted({name for each in operations for name in parameter_names(each)})
    case = Case(cirq.Circuit(PREPARED, operations, TURNED), readouts, [], list(map(sympy.Symbol, weights)))
    engine = Engine(fused_circuit(case.specification).plan(Tuning(lanes("double"))), variant="double")
    given = np.zeros((1, 0)), np.linspace(0.4, 1.3, len(weights))

    np.testing.assert_allclose(engine.values(*given), case.values(*given), atol=1e-10)


def test_a_channel_with_a_control_value_that_is_a_bool() -> None:
    channels = [cirq.bit_flip(0.25)(SECOND).controlled_by(FIRST, control_values=[value]) for value in (False, 0)]

    one, other = (channel_of(channel) for channel in channels)

    np.testing.assert_array_equal(one.matrices, other.matrices)


class Own(cirq.Gate):  # type: ignore[misc]  # Cirq is not followed
    """A gate on any number of qubits with a matrix alone."""

    def __init__(self, matrix: NDArray[np.complex128]) -> None:
        self.matrix = matrix

    def _num_qubits_(self) -> int:
        return int(np.log2(len(self.matrix)))

    def _unitary_(self) -> NDArray[np.complex128]:
        return self.matrix

    def __str__(self) -> str:
        return "own"


class Alike(Own):
    """One that is equal to all others of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 1


class Liar(Own):
    """One whose decomposition is not its matrix."""

    def _decompose_(self, qubits: Sequence[cirq.Qid]) -> Iterator[cirq.Operation]:
        yield cirq.X(qubits[0])


class SymbolicLiar(cirq.Gate):  # type: ignore[misc]
    """One that decomposes into another angle than that of its matrix."""

    def __init__(self, angle: Any) -> None:
        self.angle = angle

    def _num_qubits_(self) -> int:
        return 1

    def _is_parameterized_(self) -> bool:
        return bool(cirq.is_parameterized(self.angle))

    def _parameter_names_(self) -> set[str]:
        return set(cirq.parameter_names(self.angle))

    def _resolve_parameters_(self, resolver: cirq.ParamResolver, recursive: bool) -> "SymbolicLiar":
        return SymbolicLiar(cirq.resolve_parameters(self.angle, resolver, recursive))

    def _unitary_(self) -> Any:
        return NotImplemented if self._is_parameterized_() else cirq.unitary(cirq.rx(self.angle))

    def _decompose_(self, qubits: Sequence[cirq.Qid]) -> Iterator[cirq.Operation]:
        yield cirq.rx(2 * self.angle)(*qubits)

    def __str__(self) -> str:
        return "liar"


class InPlace(cirq.Gate):  # type: ignore[misc]
    """A gate that only changes states."""

    def _num_qubits_(self) -> int:
        return 3

    def _apply_unitary_(self, args: cirq.ApplyUnitaryArgs) -> NDArray[np.complex128]:
        args.target_tensor[args.subspace_index(0b011)] *= 1j
        return np.asarray(args.target_tensor)


class Placed(cirq.Gate):  # type: ignore[misc]
    """A gate that decomposes into gates on qubits that it was created with."""

    def __init__(self, *qubits: cirq.Qid) -> None:
        self.qubits = qubits

    def _num_qubits_(self) -> int:
        return 2

    def _decompose_(self, _: Sequence[cirq.Qid]) -> Iterator[cirq.Operation]:
        yield cirq.rx(0.3)(self.qubits[0])
        yield cirq.rx(0.6)(self.qubits[1])
        yield cirq.CNOT(*self.qubits)


def random_unitary(qubits: int, seed: int = 1) -> NDArray[np.complex128]:
    return np.asarray(cirq.testing.random_unitary(2**qubits, random_state=seed))


def test_a_gate_of_a_user_may_change_between_two_circuits() -> None:
    gate = Own(random_unitary(1))
    check(gate(FIRST))
    gate.matrix = random_unitary(1, 2)

    check(gate(FIRST))


REPEATED = cirq.CircuitOperation(
    cirq.FrozenCircuit(cirq.X(FIRST) ** A, cirq.CNOT(FIRST, SECOND), cirq.rx(0.3)(SECOND)),
    repetitions=3, param_resolver={"a": sympy.Symbol("b")}, use_repetition_ids=False,
)  # fmt: skip
DIAGONAL = {
    name: cirq.ThreeQubitDiagonalGate([factor * angle for angle in ANGLES])
    for name, factor in (("numbers", 1), ("a symbol", A))
}
CHECKED: dict[str, list[cirq.Operation]] = {
    **{
        f"a diagonal gate with {name} on {order}": [gate(*(LINE[place] for place in order))]
        for name, gate in DIAGONAL.items()
        for order in ORDERS
    },
    **{
        f"a control value that is {value!r}": [
            gate.controlled_by(FIRST, control_values=[value])
            for gate in (cirq.ry(0.5)(SECOND), (cirq.ISWAP**0.3)(SECOND, THIRD), cirq.rx(A)(SECOND), cirq.H(SECOND))
        ]
        for value in (True, 1, False, 0)
    },
    **{
        f"control values {values}": [cirq.H(THIRD).controlled_by(FIRST, SECOND, control_values=values)]
        for values in ([True, False], [[0, 1], [True]], cirq.SumOfProducts([(True, False), (0, 1)]))
    },
    "parts with control values that are bools": [cirq.UniformSuperpositionGate(5, 3)(*LINE)],
    **{f"a matrix alone, {many}": [Own(random_unitary(many))(*LINE[:many][::-1])] for many in (1, 2, 3)},
    "a gate that only changes states": [InPlace()(THIRD, FIRST, SECOND)],
    "a wrong decomposition of numbers": [Liar(random_unitary(3))(*LINE)],
    "equal gates that differ": [Alike(random_unitary(2, seed))(FIRST, SECOND) for seed in (1, 2)],
    "a circuit that repeats and renames": [REPEATED, REPEATED.controlled_by(THIRD)],
    "a gate that knows its qubits": [Placed(SECOND, FIRST)(SECOND, FIRST)],
    "two symbols of one name": [(cirq.X ** (A + sympy.Symbol("a", real=True)))(FIRST)],
}


@pytest.mark.parametrize("what", CHECKED)
def test_the_engine_does_what_the_simulator_does(what: str) -> None:
    check(*CHECKED[what])


def test_a_wrong_decomposition_with_symbols_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"^liar\(q\(0\)\) is not what it says: its decomposition differs by"):
        list(elementary(SymbolicLiar(A)(FIRST)))


@pytest.mark.parametrize("matrix", [2 * np.eye(2), np.full((2, 2), np.nan), np.ones((4, 4)) / 2])
def test_a_matrix_that_is_not_unitary_is_refused_by_name(matrix: NDArray[np.complex128]) -> None:
    gate = Own(matrix)

    with pytest.raises(UnsupportedError, match=r"^own\(.*\) is not unitary"):
        list(elementary(gate(*LINE[: gate.num_qubits()])))


def test_a_wide_gate_that_is_its_parts_has_no_limit() -> None:
    many = cirq.LineQubit.range(24)
    inner = cirq.FrozenCircuit(cirq.H.on_each(*many))

    parts = list(elementary(cirq.CircuitOperation(inner, use_repetition_ids=False)))

    assert [part.qubits for part in parts] == [(qubit,) for qubit in many]


def test_a_gate_too_wide_to_compare_is_refused() -> None:
    many = cirq.LineQubit.range(21)

    with pytest.raises(UnsupportedError, match="on 21 qubits, and is compared with Cirq's simulator on 20 at most"):
        list(elementary(cirq.ParallelGate(cirq.X, 21)(*many)))


def test_a_circuit_within_the_circuit_may_have_channels() -> None:
    inner = cirq.FrozenCircuit(cirq.X(FIRST) ** 0.3, cirq.bit_flip(0.1)(FIRST))
    circuit = cirq.Circuit(cirq.CircuitOperation(inner, repetitions=2, use_repetition_ids=False).with_tags("noisy"))
    readouts = [cirq.Z(FIRST) * 1.0, cirq.Y(FIRST) * 1.0]

    values = NoisyPQC(circuit, readouts)(np.zeros((1, 0)))

    np.testing.assert_allclose(values[0], exact_values(circuit, readouts), atol=1e-6)


@pytest.mark.parametrize("layer", [PQC, NoisyPQC])
def test_a_gate_with_symbols_that_cannot_decompose_is_refused_in_a_sentence(layer: type[PQC]) -> None:
    """Cirq asks for numbers where it decomposes a gate with a control, and this gate has no matrix with symbols."""
    controlled = QasmUGate(A, 0.1, 0.2)(FIRST).controlled_by(SECOND)

    with pytest.raises(ValueError, match="does not decompose into gates on one and two qubits"):
        layer(cirq.Circuit(controlled), cirq.Z(FIRST), weights=[A])


def test_a_factor_of_a_readout_may_have_the_rounding_of_a_conversion() -> None:
    readout = (1 + 1e-20j) * cirq.Z(FIRST)

    assert PQC(cirq.Circuit(cirq.X(FIRST)), readout)(np.zeros((1, 0))).numpy() == pytest.approx(-1)
    with pytest.raises(ValueError, match="which is not a real number"):
        PQC(cirq.Circuit(cirq.X(FIRST)), (1 + 1e-3j) * cirq.Z(FIRST))


def test_a_gate_that_decomposes_into_gates_on_other_qubits_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"into gates on qubits that are not its own: q\(2\)"):
        list(elementary(Placed(SECOND, THIRD)(SECOND, FIRST)))


def test_gates_that_are_equal_up_to_a_phase_differ_under_control() -> None:
    one = cirq.PhasedXZGate(x_exponent=0.5, z_exponent=0.5, axis_phase_exponent=0.75).controlled()
    other = cirq.PhasedXZGate(x_exponent=-0.5, z_exponent=0.5, axis_phase_exponent=-0.25).controlled()
    assert one == other

    check(one(FIRST, SECOND), other(THIRD, SECOND))


def test_an_exponent_that_is_not_real_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="the exponent I is not real"):
        list(elementary(cirq.X(FIRST) ** sympy.I))
