"""The engine's operation of a small circuit."""

from qtj_simulator.fused.op import FusedOp
from qtj_simulator.specification import specified
from qtj_trainer.workloads.qcnn import hybrid_circuit

QUBITS = 4


def operation(qubits: int = QUBITS) -> FusedOp:
    hybrid = hybrid_circuit(qubits)
    return FusedOp(specified(hybrid.circuit, hybrid.readouts, hybrid.inputs, hybrid.weights))
