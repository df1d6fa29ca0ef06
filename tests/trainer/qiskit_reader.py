"""OpenQASM 3 as Qiskit reads and simulates it."""

from collections.abc import Sequence

import cirq
import numpy as np
from numpy.typing import NDArray
from qiskit import qasm3
from qiskit.quantum_info import SparsePauliOp, Statevector

from qtj_simulator.specification import Readout


def expectation_values(
    program: str, readouts: Sequence[Readout], qubits: Sequence[cirq.Qid], inputs: Sequence[float]
) -> NDArray[np.float64]:
    """Returns the values (readouts,) of a program.

    Args:
        program: The text.
        readouts: The observables.
        qubits: What q[0], q[1], ... are in them.
        inputs: The value of each input, in the order in which they are declared.
    """
    circuit = qasm3.loads(program)
    values = dict(zip(_inputs(program), inputs, strict=True))
    state = Statevector(circuit.assign_parameters({each: values[each.name] for each in circuit.parameters}))
    operators = [_operator(cirq.PauliSum.wrap(each), qubits) for each in readouts]
    return np.array([state.expectation_value(each).real for each in operators])


def _inputs(program: str) -> list[str]:
    lines = [line for line in program.splitlines() if line.startswith("input ")]
    return [line.partition(";")[0].split()[-1] for line in lines]


def _operator(observable: cirq.PauliSum, qubits: Sequence[cirq.Qid]) -> SparsePauliOp:
    terms = [
        ("".join(map(str, string.values())), [qubits.index(qubit) for qubit in string], string.coefficient)
        for string in observable
    ]
    return SparsePauliOp.from_sparse_list(terms, num_qubits=len(qubits))
