"""The engines, each by its own manual, with the energy and the energy with its gradient, in single precision."""

from typing import Any

import numpy as np

from bench.simulators.simulator import Array, Simulator
from bench.wide.chain import Chain


def ours(chain: Chain, threads: int) -> Simulator:
    """Our engine, from NumPy arrays."""
    from qtj_simulator import expectation_engine

    circuit, energy, symbols = _in_cirq(chain)
    engine = expectation_engine(circuit, energy, weights=symbols, threads=threads)
    none, given, upstream = np.zeros((1, 0)), chain.parameters, np.ones((1, 1))

    def gradient() -> Array:
        engine.values(none, given)
        return engine.gradients(none, given, upstream)[1]

    return Simulator(lambda: engine.values(none, given), gradient)


def tfq(chain: Chain, _: int) -> Simulator:
    """TensorFlow Quantum, which has qsim inside, with its adjoint differentiator."""
    import tensorflow as tf

    from qtj_simulator.specification import specified
    from qtj_simulator.tfq_op import TfqOp

    circuit, energy, symbols = _in_cirq(chain)
    operation = TfqOp(specified(circuit, energy, (), symbols))
    inputs, weights = tf.zeros((1, 0)), tf.constant(chain.parameters, tf.float32)

    def gradient() -> Array:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            values = operation(inputs, weights)
        return np.asarray(tape.gradient(values, weights))

    return Simulator(lambda: np.asarray(operation(inputs, weights)), gradient)


def qsim(chain: Chain, threads: int) -> Simulator:
    """Qsim alone, which has no gradients."""
    import cirq
    import qsimcirq  # type: ignore[import-not-found]  # it is in requirements/bench.txt alone

    circuit, energy, symbols = _in_cirq(chain)
    resolved = cirq.resolve_parameters(circuit, dict(zip(symbols, chain.parameters, strict=True)))
    simulator = qsimcirq.QSimSimulator(qsimcirq.QSimOptions(cpu_threads=threads, max_fused_gate_size=3))

    def forward() -> Array:
        return np.real(simulator.simulate_expectation_values(resolved, [energy]))

    def gradient() -> Array:
        raise NotImplementedError("qsim has no gradients")

    return Simulator(forward, gradient)


def lightning(chain: Chain, _: int) -> Simulator:
    """PennyLane's lightning.qubit with its adjoint differentiation."""
    import pennylane as qml

    gates, paulis = {"x": qml.RX, "zz": qml.IsingZZ}, {"x": qml.PauliX, "z": qml.PauliZ}
    strings = [qml.prod(*map(paulis[name[0]], qubits)) for name, qubits in chain.terms()]
    energy = qml.Hamiltonian([-1.0] * len(strings), strings)

    @qml.qnode(qml.device("lightning.qubit", wires=chain.qubits, c_dtype=np.complex64), diff_method="adjoint")  # type: ignore[untyped-decorator]  # PennyLane carries no types
    def value(parameters: Any) -> Any:
        for qubit in range(chain.qubits):
            qml.Hadamard(qubit)
        for gate in chain.gates():
            gates[gate.name](np.pi * parameters[gate.parameter], wires=list(gate.qubits))
        return qml.expval(energy)

    given = qml.numpy.array(chain.parameters, requires_grad=True)
    return Simulator(lambda: np.asarray(value(given)), lambda: np.asarray(qml.grad(value)(given)))


def _in_cirq(chain: Chain) -> tuple[Any, Any, list[Any]]:
    """The circuit, the energy, and the symbols."""
    import cirq
    import sympy

    line, paulis = cirq.LineQubit.range(chain.qubits), {"x": cirq.X, "zz": cirq.ZZ}
    symbols = list(sympy.symbols(f"p:{len(chain.parameters)}"))
    circuit = cirq.Circuit(cirq.H.on_each(*line))
    for gate in chain.gates():
        circuit.append((paulis[gate.name] ** symbols[gate.parameter])(*(line[k] for k in gate.qubits)))
    energy = cirq.PauliSum()
    for name, qubits in chain.terms():
        energy -= cirq.PauliString({line[qubit]: name[0].upper() for qubit in qubits})
    return circuit, energy, symbols
