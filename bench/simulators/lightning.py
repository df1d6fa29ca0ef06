"""PennyLane's lightning.qubit."""

from typing import Any

import numpy as np

from bench.case import Case
from bench.simulators.simulator import Simulator


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
