"""Qulacs."""

from typing import Any

import numpy as np

from bench.case import Case
from bench.simulators.simulator import Array, Simulator


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
