"""The circuit of a case in Cirq, and the angles that encode its examples."""

from typing import Any

import numpy as np

from bench.case import Case
from bench.simulators.simulator import Array


def cirq_circuit(case: Case) -> tuple[Any, Any, Any, Any]:
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


def inputs_of(case: Case) -> Array:
    data = case.data()
    inputs = np.zeros((case.batch, case.qubits))
    inputs[np.arange(case.batch), data["qubit"]] = data["theta"]
    return inputs
