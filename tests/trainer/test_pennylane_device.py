"""The device of PennyLane: values, gradients and samples are those of PennyLane's own simulator."""

import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pennylane as qml
import pytest
import tensorflow as tf
from pennylane import numpy as pnp
from pennylane.devices import ExecutionConfig
from pennylane.exceptions import DeviceError, QuantumFunctionError

from qtj_simulator.pennylane import SimulatorDevice
from tests.trainer.face_cases import calls_from_now_on

pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values:numpy.exceptions.ComplexWarning")
"""The gradients of PennyLane's own simulator."""

WIRES = 4
ONE = [qml.RX, qml.RY, qml.RZ, qml.PhaseShift]
TWO = [qml.CRX, qml.CRY, qml.CRZ, qml.ControlledPhaseShift, qml.IsingXX, qml.IsingYY, qml.IsingZZ, qml.IsingXY]
FIXED = [qml.Hadamard, qml.S, qml.T, qml.SX, qml.CNOT, qml.CY, qml.CZ, qml.SWAP, qml.ISWAP, qml.Toffoli, qml.CSWAP]
OTHERS = [qml.Rot, qml.U2, qml.U3, qml.CRot, qml.SingleExcitation, qml.DoubleExcitation, qml.PSWAP]
HERMITIAN = np.array([[1.0, 2 - 1j], [2 + 1j, -3]])
Function = Callable[..., Any]


def pair() -> tuple[Any, Any]:
    return SimulatorDevice(wires=WIRES, threads=1), qml.device("default.qubit", wires=WIRES)


def random_gates(seed: int) -> Callable[[Any], None]:
    """Gates of all kinds on wires in any order; an angle is used several times, and within expressions."""
    random = np.random.default_rng(seed)
    kinds = [*random.choice(np.array(ONE + TWO + FIXED + OTHERS, object), 24)]
    places = [random.permutation(WIRES)[: kind.num_wires].tolist() for kind in kinds]
    angles = [[int(each) for each in random.integers(0, 5, kind.num_params)] for kind in kinds]

    def gates(given: Any) -> None:
        for kind, wires, chosen in zip(kinds, places, angles, strict=True):
            kind(*(given[each] * (1 + each) + 0.1 * given[0] for each in chosen), wires=wires)

    return gates


def observables() -> list[Any]:
    return [
        qml.expval(qml.Z(2) @ qml.X(0)),
        qml.expval(qml.Hamiltonian([0.5, -1.5, 2.0], [qml.Y(1), qml.X(0) @ qml.Y(1) @ qml.Z(3), qml.Identity(0)])),
        qml.expval(qml.Hermitian(HERMITIAN, wires=3)),
        qml.expval(qml.Projector([0, 1], wires=[3, 1])),
        qml.expval(2 * qml.X(3) + qml.prod(qml.Z(1), qml.Hadamard(2))),
    ]


def loss_of(gates: Function, device: Any, **options: Any) -> tuple[Function, Function]:
    def measured(given: Any) -> Any:
        gates(given)
        return observables()

    values = qml.QNode(measured, device, **options)

    def loss(given: Any) -> Any:
        return sum(pnp.sum((1 + place) * value**2) for place, value in enumerate(values(given)))

    return values, qml.grad(loss)


def test_pennylane_finds_it_by_name() -> None:
    device = qml.device("qtj.simulator", wires=["a", 7])
    assert isinstance(device, SimulatorDevice)
    assert device.name == "qtj.simulator"


@pytest.mark.parametrize("seed", range(5))
def test_values_and_gradients_of_random_circuits(seed: int) -> None:
    given = pnp.array(np.random.default_rng(seed).uniform(-3, 3, 5), requires_grad=True)
    gates = random_gates(seed)
    (values, slopes), (expected, expected_slopes) = (loss_of(gates, device) for device in pair())

    np.testing.assert_allclose(values(given), expected(given), atol=1e-10)
    np.testing.assert_allclose(slopes(given), expected_slopes(given), atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_several_values_of_an_angle_are_one_call(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    given = pnp.array([random.uniform(-3, 3, 6), *[np.full(6, each) for each in random.uniform(-3, 3, 4)]])
    own, reference = (loss_of(random_gates(seed), device) for device in pair())
    calls = calls_from_now_on(monkeypatch)

    np.testing.assert_allclose(own[0](given), reference[0](given), atol=1e-10)
    np.testing.assert_allclose(own[1](given), reference[1](given), atol=1e-9)
    assert calls == ["values", "values", "gradients"]


def test_angles_with_one_value_and_with_several_in_one_circuit() -> None:
    def loss(device: Any) -> Function:
        def circuit(inputs: Any, weights: Any) -> Any:
            qml.AngleEmbedding(inputs, wires=range(WIRES))
            qml.StronglyEntanglingLayers(weights, wires=range(WIRES))
            return qml.expval(qml.Z(1))

        value = qml.QNode(circuit, device)
        return lambda inputs, weights: pnp.sum(value(inputs, weights) ** 3)

    random = np.random.default_rng(0)
    given = pnp.array(random.uniform(-2, 2, (5, WIRES))), pnp.array(random.uniform(-2, 2, (2, WIRES, 3)))
    for found, expected in zip(*(qml.grad(loss(device))(*given) for device in pair()), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_circuits_that_differ_in_angles_share_an_engine() -> None:
    device = SimulatorDevice(wires=WIRES)
    values, _ = loss_of(random_gates(3), device)
    for each in range(3):
        values(pnp.array(np.full(5, 0.3 * each)))
    assert device._engines.of_values.cache_info().currsize == 1


def test_numbers_that_are_not_trained_have_no_slope() -> None:
    def circuit(fixed: Any, trained: Any) -> Any:
        qml.RX(fixed, 0)
        qml.RY(trained * fixed, 1)
        qml.QubitUnitary(np.array([[0, 1], [1, 0]]), wires=0)
        return qml.expval(qml.X(1))

    slope = qml.grad(qml.QNode(circuit, SimulatorDevice(wires=2)))(0.5, pnp.array(0.4, requires_grad=True))
    np.testing.assert_allclose(slope, 0.5 * np.cos(0.2))


def test_labels_of_wires_in_another_order_than_they_are_used() -> None:
    def circuit(angle: float) -> Any:
        qml.RX(angle, wires="b")
        qml.CNOT(wires=["b", 9])
        qml.RY(0.3, wires="a")
        return qml.probs(wires=[9, "a"]), qml.expval(qml.Z("b") @ qml.Y("a")), qml.state()

    devices = SimulatorDevice(wires=["a", "b", 9]), qml.device("default.qubit", wires=["a", "b", 9])
    for found, expected in zip(*(qml.QNode(circuit, device)(0.7) for device in devices), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "measured",
    [
        lambda: qml.probs(wires=[2, 0]),
        qml.state,
        lambda: qml.density_matrix([1]),
        lambda: qml.var(qml.Z(0) @ qml.X(1)),
        lambda: qml.vn_entropy([0]),
        lambda: qml.purity([0, 1]),
        lambda: qml.mutual_info([0], [1]),
    ],
)
def test_other_measurements_come_from_the_state(measured: Function) -> None:
    def circuit(given: Any) -> Any:
        random_gates(5)(given)
        qml.GlobalPhase(0.4)
        return measured()

    for given in (np.linspace(-1, 2, 5), np.linspace(-1, 2, 15).reshape(5, 3)):
        found, expected = (qml.QNode(circuit, device)(given) for device in pair())
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)


def test_a_prepared_state_is_decomposed() -> None:
    def circuit(amplitudes: Any) -> Any:
        qml.AmplitudeEmbedding(amplitudes, wires=[3, 1], normalize=True)
        qml.adjoint(qml.RX(0.4, 1))
        qml.ctrl(qml.RY(0.7, 0), control=[1, 3])
        return qml.expval(qml.Z(0)), qml.probs(wires=range(WIRES))

    given = np.random.default_rng(0).normal(size=(3, 4))
    for found, expected in zip(*(qml.QNode(circuit, device)(given) for device in pair()), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_shots_have_the_probabilities_and_the_seed() -> None:
    def drawn(seed: int) -> Any:
        def circuit(angle: float) -> Any:
            qml.RX(angle, 2)
            qml.CNOT([2, 0])
            return qml.expval(qml.Z(0)), qml.sample(wires=[0, 2]), qml.counts(wires=[2])

        return qml.QNode(circuit, SimulatorDevice(wires=WIRES, seed=seed), shots=20_000)(0.9)

    value, samples, counts = drawn(3)
    assert abs(value - np.cos(0.9)) < 0.03
    assert (samples[:, 0] == samples[:, 1]).all()
    assert counts["1"] == samples[:, 1].sum()
    assert (samples == drawn(3)[1]).all()
    assert (samples != drawn(4)[1]).any()


def test_gradients_with_shots_and_of_probabilities_are_those_of_parameter_shift() -> None:
    def circuit(angle: Any) -> Any:
        qml.RX(angle, 0)
        return qml.probs(wires=0)

    angle = pnp.array(0.5, requires_grad=True)
    for method in ("best", "parameter-shift"):
        slopes = qml.jacobian(qml.QNode(circuit, SimulatorDevice(wires=1), diff_method=method))(angle)
        np.testing.assert_allclose(slopes, [-np.sin(0.5) / 2, np.sin(0.5) / 2])
    with pytest.raises(QuantumFunctionError, match="does not support adjoint"):
        qml.jacobian(qml.QNode(circuit, SimulatorDevice(wires=1), diff_method="adjoint"))(angle)


def test_second_derivatives_are_asked_for_by_max_diff() -> None:
    def circuit(angle: Any) -> Any:
        qml.RX(angle * angle, 0)
        return qml.expval(qml.Z(0))

    angle = pnp.array(0.7, requires_grad=True)
    curvature = [qml.jacobian(qml.grad(qml.QNode(circuit, device, max_diff=2)))(angle) for device in pair()]
    assert curvature[0] == pytest.approx(curvature[1], abs=1e-9)
    with pytest.raises(QuantumFunctionError, match="does not support adjoint"):
        qml.grad(qml.QNode(circuit, SimulatorDevice(wires=1), diff_method="adjoint", max_diff=2))(angle)


def test_a_matrix_in_single_precision_is_unitary_within_its_rounding() -> None:
    exact = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 2, 2)) + 1j)[0]

    def circuit(matrices: Any) -> Any:
        for matrix in matrices:
            qml.QubitUnitary(matrix, wires=1)
        return qml.expval(qml.X(1))

    found = qml.QNode(circuit, SimulatorDevice(wires=2))(exact.astype(np.complex64))
    assert found == pytest.approx(qml.QNode(circuit, pair()[1])(exact), abs=1e-5)


def test_trained_factors_of_a_hamiltonian_have_slopes() -> None:
    def circuit(factors: Any, angle: Any) -> Any:
        qml.RX(angle, 0)
        return qml.expval(qml.Hamiltonian(factors, [qml.Z(0), qml.Y(0)]))

    given = pnp.array([0.3, 0.8], requires_grad=True), pnp.array(0.4, requires_grad=True)
    for found, expected in zip(*(qml.grad(qml.QNode(circuit, device))(*given) for device in pair()), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_measurement_in_the_middle_is_deferred() -> None:
    def circuit(angle: Any) -> Any:
        qml.RX(angle, 0)
        qml.cond(qml.measure(0), qml.RY)(angle, wires=1)
        return qml.expval(qml.Z(1))

    angle = pnp.array(0.8, requires_grad=True)
    found, expected = (qml.grad(qml.QNode(circuit, device))(angle) for device in pair())
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("interface", ["jit", "grad", "jacobian"])
def test_jax_has_values_and_slopes(interface: str) -> None:
    def function(device: Any) -> Any:
        def circuit(inputs: Any, weights: Any) -> Any:
            qml.AngleEmbedding(inputs, wires=range(2))
            qml.BasicEntanglerLayers(weights, wires=range(2))
            return qml.expval(qml.Z(0)), qml.expval(qml.Y(1))

        values = qml.QNode(circuit, device)
        if interface == "jacobian":
            return jax.jacobian(values, argnums=1)
        slopes = jax.grad(lambda *given: sum((value**2).sum() for value in values(*given)), argnums=1)
        return jax.jit(slopes) if interface == "jit" else slopes

    with jax.experimental.enable_x64():
        given = jax.numpy.linspace(0, 1, 6).reshape(3, 2), jax.numpy.linspace(1, 2, 4).reshape(2, 2)
        found, expected = (function(device)(*given) for device in pair())
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_tracker_counts() -> None:
    device = SimulatorDevice(wires=WIRES)
    _, slopes = loss_of(random_gates(0), device)
    with qml.Tracker(device) as tracker:
        slopes(pnp.array(np.ones((5, 3)), requires_grad=True))
    assert (tracker.totals["batches"], tracker.totals["simulations"], tracker.totals["vjps"]) == (1, 1, 1)


def test_single_precision() -> None:
    values, _ = loss_of(random_gates(1), SimulatorDevice(wires=WIRES, dtype="float32"))
    expected, _ = loss_of(random_gates(1), pair()[1])
    given = pnp.array(np.linspace(-1, 2, 5))
    np.testing.assert_allclose(values(given), expected(given), atol=1e-4)


def test_what_it_does_not_have_is_refused_in_a_sentence() -> None:
    def circuit(**options: Any) -> Any:
        qml.RX(0.1, 0)
        if options.get("not_unitary"):
            qml.sum(qml.X(0), qml.Z(0))
        return qml.expval(qml.Z(0))

    device = SimulatorDevice(wires=1)
    with pytest.raises(DeviceError, match="use 'deferred'"):
        qml.QNode(circuit, device, mcm_method="one-shot")()
    with pytest.raises(DeviceError, match="has no option max_workers"):
        device.setup_execution_config(ExecutionConfig(device_options={"max_workers": 2}))
    with pytest.raises(DeviceError, match=r"qtj\.simulator: Not a unitary matrix"):
        qml.QNode(circuit, device)(not_unitary=True)
    with pytest.raises(ValueError, match="float16"):
        SimulatorDevice(wires=1, dtype="float16")


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_an_angle_that_is_no_number_is_named_and_gives_no_nan() -> None:
    def circuit(angles: Any) -> Any:
        qml.RX(angles[0], 0)
        qml.CRX(angles[1], [0, 1])
        return qml.expval(qml.Z(1))

    node = qml.QNode(circuit, SimulatorDevice(wires=3))
    with pytest.raises(DeviceError, match=r"an angle of RX on wires \[0\] is not a finite number"):
        node(np.array([np.nan, 0.3]))
    with pytest.raises(DeviceError, match="not a finite number"):
        qml.metric_tensor(node)(pnp.array([0.4, 0.3], requires_grad=True))


@pytest.mark.filterwarnings("ignore:Support for the TensorFlow interface is deprecated")
def test_tensorflow_has_the_slopes_of_examples_beside_an_angle_of_all() -> None:
    def slopes(device: Any) -> Any:
        def circuit(inputs: Any, weight: Any) -> Any:
            qml.RX(inputs, 0)
            qml.RY(weight, 0)
            return qml.expval(qml.Z(0))

        inputs, weight = tf.Variable([0.1, 0.2, 0.3], dtype=tf.float64), tf.Variable(0.5, dtype=tf.float64)
        with tf.GradientTape() as tape:
            values = qml.QNode(circuit, device)(inputs, weight)
        return tape.gradient(values, [inputs, weight])

    for found, known in zip(*map(slopes, pair()), strict=True):
        np.testing.assert_allclose(found, known, atol=1e-9)


def test_slopes_by_what_is_no_angle_are_refused_and_never_zero() -> None:
    observable = qml.Hamiltonian([0.5, 0.7], [qml.Z(0), qml.X(0)])
    tape = qml.tape.QuantumScript([qml.RX(0.3, 0)], [qml.expval(observable)])
    device = SimulatorDevice(wires=1)

    with pytest.raises(DeviceError, match="slopes by angles alone"):
        device.compute_derivatives((tape,))
    tape.trainable_params = [0]
    assert np.ravel(device.compute_derivatives((tape,)))[0] == pytest.approx(-0.5 * np.sin(0.3), abs=1e-6)


def test_a_device_can_be_sent_to_another_process() -> None:
    device = pickle.loads(pickle.dumps(SimulatorDevice(wires=2)))

    assert turned(device, 0.4) == pytest.approx(np.cos(0.4), abs=1e-6)


def turned(device: Any, angle: float) -> float:
    def circuit() -> Any:
        qml.RX(angle, 0)
        return qml.expval(qml.Z(0))

    return float(qml.QNode(circuit, device)())
