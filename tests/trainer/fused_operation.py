"""The engine's operation of a small circuit."""

from qtj_simulator.fused.op import FusedOp
from qtj_trainer.workloads.qcnn import hybrid_circuit
from tests.trainer.circuits import Case

QUBITS = 4


def operation(qubits: int = QUBITS) -> FusedOp:
    return FusedOp(Case(*hybrid_circuit(qubits)).specification)
