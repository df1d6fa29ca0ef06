"""The simulators, each behind the same two functions: the loss, and the loss with its gradient.

`python -m bench.simulators ENGINE QUBITS LAYERS BATCH THREADS` answers each line on stdin with a JSON line: "first"
with the first gradient of all, "forward" and "gradient" with the fastest of some. One process for each engine, so that
they can take turns and none disturbs the other's threads.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.case import Case

Array = NDArray[Any]

STEPS = 20
_ENDLESS_ROUNDS = 20_000
"""An epoch of so many rounds does not end within the benchmark."""


class Simulator(NamedTuple):
    """Both return what they computed, as NumPy arrays."""

    forward: Callable[[], Array]
    gradient: Callable[[], Array]


def _circuit(case: Case) -> tuple[Any, Any, Any, Any]:
    import cirq
    import sympy

    line = cirq.LineQubit.range(case.qubits)
    angles = sympy.symbols(f"p0:{21 * case.layers}")
    turns = sympy.symbols(f"t0:{case.qubits}")
    pauli = {"x": cirq.X, "y": cirq.Y, "z": cirq.Z, "xx": cirq.XX, "yy": cirq.YY, "zz": cirq.ZZ}
    circuit = cirq.Circuit(
        cirq.H.on_each(*line),
        [cirq.CZ(line[k], line[(k + 1) % case.qubits]) for k in range(case.qubits)],
        [cirq.rx(turn)(qubit) for turn, qubit in zip(turns, line, strict=True)],
    )
    for gate in case.gates():
        qubits = [line[k] for k in gate.qubits]
        circuit.append(cirq.CNOT(*qubits) if gate.name == "cnot"
                       else (pauli[gate.name] ** (gate.sign * angles[gate.parameter]))(*qubits))  # fmt: skip
    return circuit, [cirq.PauliString(cirq.Z(line[k])) for k in case.readouts], turns, angles


def _inputs(case: Case) -> Array:
    data = case.data()
    inputs = np.zeros((case.batch, case.qubits))
    inputs[np.arange(case.batch), data["qubit"]] = data["theta"]
    return inputs


def fused_plan(case: Case) -> Any:
    """What our engine does for a case."""
    from qtj_trainer.simulate.fused.engine import lanes
    from qtj_trainer.simulate.fused.plan import make_plan
    from qtj_trainer.simulate.fused.shape import Tuning
    from qtj_trainer.simulate.specification import Specification

    circuit, readouts, turns, angles = _circuit(case)
    asked = Specification(circuit, tuple(readouts), tuple(turns), tuple(angles))
    return make_plan(asked, Tuning(lanes(), batch=case.batch))


def fused(case: Case, threads: int) -> Simulator:
    """Our engine, without TensorFlow around it."""
    from qtj_trainer.simulate.fused.engine import Engine

    engine = Engine(fused_plan(case), threads=threads, keep_bytes=1 << 30)
    data, inputs = case.data(), _inputs(case)
    upstream = np.tile(data["coefficients"] / case.batch, (case.batch, 1))

    def gradient() -> Array:
        engine.values(inputs, data["parameters"])
        return engine.gradients(inputs, data["parameters"], upstream)[1]

    return Simulator(lambda: engine.values(inputs, data["parameters"])[0], gradient)


def tfq(case: Case, _: int) -> Simulator:
    """TensorFlow Quantum's adjoint differentiator, in a graph."""
    import tensorflow as tf

    from qtj_trainer.simulate.specification import specified
    from qtj_trainer.simulate.tfq_op import TfqOp

    circuit, readouts, turns, angles = _circuit(case)
    operation = TfqOp(specified(circuit, readouts, turns, angles))
    data = case.data()
    inputs, weights = tf.constant(_inputs(case), tf.float32), tf.Variable(data["parameters"], dtype=tf.float32)
    coefficients = tf.constant(data["coefficients"] / case.batch, tf.float32)
    forward = tf.function(lambda: operation(inputs, tf.convert_to_tensor(weights)))

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow carries no types
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(operation(inputs, tf.convert_to_tensor(weights)) * coefficients)
        return tape.gradient(loss, weights)

    return Simulator(lambda: forward().numpy(), lambda: gradient().numpy())


def tensorcircuit(case: Case, _: int) -> Simulator:
    """TensorCircuit-ng on JAX, compiled, vectorised over the batch."""
    import jax
    import jax.numpy as jnp
    import tensorcircuit as tc

    tc.set_backend("jax")
    tc.set_dtype("complex64")
    data, gates = case.data(), list(case.gates())
    index = np.arange(2**case.qubits)
    signs = [1 - 2 * ((index >> (case.qubits - 1 - k)) & 1) for k in case.readouts]
    weights = jnp.asarray(sum(c * s for c, s in zip(data["coefficients"], signs, strict=True)), jnp.float32)

    def loss(parameters: Any, turns: Any) -> Any:
        circuit = tc.Circuit(case.qubits)
        for k in range(case.qubits):
            circuit.h(k)
        for k in range(case.qubits):
            circuit.cz(k, (k + 1) % case.qubits)
        for k in range(case.qubits):
            circuit.rx(k, theta=turns[k])
        for gate in gates:
            if gate.name == "cnot":
                circuit.cnot(*gate.qubits)
            else:
                name = f"r{gate.name}"
                getattr(circuit, name)(*gate.qubits, theta=np.pi * gate.sign * parameters[gate.parameter])
        return jnp.sum(weights * jnp.abs(circuit.state()) ** 2)

    def mean(parameters: Any, turns: Any) -> Any:
        return jnp.mean(jax.vmap(loss, (None, 0))(parameters, turns))

    parameters, turns = jnp.asarray(data["parameters"], jnp.float32), jnp.asarray(_inputs(case), jnp.float32)
    forward, gradient = jax.jit(mean), jax.jit(jax.grad(mean))
    return Simulator(lambda: np.array(forward(parameters, turns)), lambda: np.array(gradient(parameters, turns)))


def lightning(case: Case, _: int) -> Simulator:
    """PennyLane's lightning.qubit with adjoint differentiation, example by example."""
    import pennylane as qml

    data = case.data()
    device = qml.device("lightning.qubit", wires=case.qubits, c_dtype=np.complex64)
    names = {"x": qml.RX, "y": qml.RY, "z": qml.RZ, "xx": qml.IsingXX, "yy": qml.IsingYY, "zz": qml.IsingZZ}
    observable = qml.Hamiltonian(data["coefficients"], [qml.PauliZ(k) for k in case.readouts])

    @qml.qnode(device, diff_method="adjoint")  # type: ignore[untyped-decorator]  # PennyLane carries no types
    def loss(parameters: Any, theta: float, turned: int) -> Any:
        for k in range(case.qubits):
            qml.Hadamard(k)
        for k in range(case.qubits):
            qml.CZ([k, (k + 1) % case.qubits])
        qml.RX(theta, turned)
        for gate in case.gates():
            if gate.name == "cnot":
                qml.CNOT(list(gate.qubits))
            else:
                names[gate.name](np.pi * gate.sign * parameters[gate.parameter], wires=list(gate.qubits))
        return qml.expval(observable)

    slope = qml.grad(loss, argnums=0)
    parameters = qml.numpy.array(data["parameters"], requires_grad=True)
    examples = [(float(theta), int(qubit)) for theta, qubit in zip(data["theta"], data["qubit"], strict=True)]
    return Simulator(
        lambda: np.mean([loss(parameters, *example) for example in examples]),
        lambda: np.mean([slope(parameters, *example) for example in examples], axis=0),
    )


def qulacs(case: Case, _: int) -> Simulator:  # noqa: C901  two loops over gates
    """Qulacs with its back-propagation, example by example."""
    import qulacs as q

    data, axis = case.data(), {"x": 1, "y": 2, "z": 3}
    observable = q.Observable(case.qubits)
    for k, coefficient in zip(case.readouts, data["coefficients"], strict=True):
        observable.add_operator(float(coefficient), f"Z {k}")

    def circuit(theta: float, turned: int) -> tuple[Any, list[tuple[int, int]]]:
        made, owners = q.ParametricQuantumCircuit(case.qubits), []
        for k in range(case.qubits):
            made.add_H_gate(k)
        for k in range(case.qubits):
            made.add_CZ_gate(k, (k + 1) % case.qubits)
        made.add_RX_gate(turned, -theta)
        for gate in case.gates():
            if gate.name == "cnot":
                made.add_CNOT_gate(*gate.qubits)
                continue
            angle = -np.pi * gate.sign * data["parameters"][gate.parameter]
            made.add_parametric_multi_Pauli_rotation_gate(list(gate.qubits), [axis[c] for c in gate.name], angle)
            owners.append((gate.parameter, gate.sign))
        return made, owners

    examples = [(float(theta), int(qubit)) for theta, qubit in zip(data["theta"], data["qubit"], strict=True)]

    def forward() -> Array:
        values = []
        for example in examples:
            state = q.QuantumState(case.qubits)
            circuit(*example)[0].update_quantum_state(state)
            values.append(observable.get_expectation_value(state))
        return np.array(np.mean(values))

    def gradient() -> Array:
        total = np.zeros(21 * case.layers)
        for example in examples:
            made, owners = circuit(*example)
            for slope, (parameter, sign) in zip(made.backprop(observable), owners, strict=True):
                total[parameter] -= np.pi * sign * slope / case.batch
        return total

    return Simulator(forward, gradient)


def _trainer(case: Case, engine: str) -> Simulator:
    """Whole training steps of the trainer, from the batch to the optimizer: `STEPS` of them for each gradient."""
    import tensorflow as tf

    from qtj_trainer.engines import EngineName
    from qtj_trainer.run.position import Position
    from qtj_trainer.run.synchronous import Synchronous
    from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

    work = Qcnn()
    options = QcnnOptions(
        qubits=case.qubits, batch_size=case.batch, rounds=_ENDLESS_ROUNDS, engine=EngineName(engine)
    )  # fmt: skip
    split = work.split(options)
    training, held_out = work.encode(split.training, options), work.encode(split.held_out, options)
    loop = Synchronous(work, options, tf.distribute.get_strategy(), training=training, held_out=held_out)
    positions = loop.positions(Position(), lambda _: False)
    few = training.inputs[: case.batch]
    return Simulator(
        lambda: np.asarray(loop.model(few)), lambda: np.array([next(positions).step for _ in range(STEPS)], float)
    )


def trainer_fused(case: Case, _: int) -> Simulator:
    """The trainer with our engine."""
    return _trainer(case, "fused")


def trainer_tfq(case: Case, _: int) -> Simulator:
    """The trainer with TensorFlow Quantum."""
    return _trainer(case, "tfq")


SIMULATORS: dict[str, Callable[[Case, int], Simulator]] = {
    each.__name__: each for each in (fused, tfq, tensorcircuit, lightning, qulacs, trainer_fused, trainer_tfq)
}


_LIBRARIES = {
    "fused": ("cirq", "qtj_trainer.simulate.fused.engine"),
    "tfq": ("qtj_trainer.simulate.tfq_op",),
    "tensorcircuit": ("jax", "tensorcircuit"),
    "lightning": ("pennylane_lightning.lightning_qubit",),
    "qulacs": ("qulacs",),
    "trainer_fused": ("tensorflow",),
    "trainer_tfq": ("tensorflow",),
}
"""Imported before the clock starts and memory is counted. What they leave is no garbage, and is not looked through."""


_LEAST_SECONDS = 0.2
"""Calls that take less are repeated for so long: the caches are the simulator's own by then."""


def _resident() -> int:
    """Returns the most MiB this process has held: getrusage would count what its parent held before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _timed(call: Callable[[], Array], seconds: float) -> tuple[float, Array]:
    """Calls once or for so many seconds; returns the seconds of the fastest call, and its result."""
    least, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        result = np.asarray(call())
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return least, result


def serve() -> None:
    """Answers commands until stdin ends."""
    engine, *numbers = sys.argv[1:]
    qubits, layers, batch, threads = map(int, numbers)
    gc.disable()
    for name in _LIBRARIES[engine]:
        import_module(name)
    gc.freeze()
    gc.enable()
    before, start = _resident(), time.perf_counter()
    simulator = SIMULATORS[engine](Case(qubits, layers, batch), threads)
    made = time.perf_counter() - start
    for line in sys.stdin:
        start = time.perf_counter()
        what = line.strip()
        if what == "first":
            seconds, result = _timed(simulator.gradient, 0)
        else:
            seconds, result = _timed(getattr(simulator, what), _LEAST_SECONDS)
        spent = time.perf_counter() - start
        answer = {"seconds": seconds, "spent": spent, "made": made, "mib": _resident() - before}
        sys.stdout.write(json.dumps(answer | {"result": result.ravel()[:5].tolist()}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    serve()
