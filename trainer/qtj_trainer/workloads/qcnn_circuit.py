"""The circuits of the QCNN: cluster state, rotations by the data, convolution and pooling."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import cirq
    import sympy

__all__ = ["HybridCircuit", "hybrid_circuit", "pure_circuit"]


class HybridCircuit(NamedTuple):
    """A circuit with its readouts, and its symbols by meaning."""

    circuit: "cirq.Circuit"
    readouts: "list[cirq.PauliString]"
    inputs: "list[sympy.Symbol]"
    weights: "list[sympy.Symbol]"


def hybrid_circuit(qubits: int) -> HybridCircuit:
    """Builds cluster state, one data rotation for each qubit, one convolution, one pooling.

    Args:
        qubits: Qubits on the ring, at least 4.

    Returns:
        The circuit with one input symbol for each qubit (radians) and 21 weights (half turns), and a Z readout for each
        qubit that remains after the pooling, also for one without a partner.
    """
    return _circuit(qubits, layers=1)


def pure_circuit(qubits: int) -> HybridCircuit:
    """Builds cluster state, one data rotation for each qubit, convolution and pooling until one qubit is left.

    Args:
        qubits: Qubits on the ring, at least 4.

    Returns:
        The circuit with one input symbol for each qubit (radians) and 21 weights (half turns) for each of its
        ceil(log2(qubits)) layers, and the Z readout of the last qubit. 8 qubits have 63 weights.
    """
    return _circuit(qubits, layers=(qubits - 1).bit_length())


def _circuit(qubits: int, *, layers: int) -> HybridCircuit:
    import cirq
    import sympy

    from qtj_trainer import circuits

    line: list[cirq.Qid] = list(cirq.LineQubit.range(qubits))
    turns = list(sympy.symbols(f"turn0:{qubits}"))
    circuit = cirq.Circuit(
        circuits.cluster_state(line), [cirq.rx(turn)(qubit) for turn, qubit in zip(turns, line, strict=True)]
    )
    weights: list[sympy.Symbol] = []
    for layer in range(layers):
        which = "" if layers == 1 else f"{layer}_"
        convolution = sympy.symbols(f"convolution{which}0:{circuits.CONVOLUTION_ANGLES}")
        pooling = sympy.symbols(f"pooling{which}0:{circuits.POOLING_ANGLES}")
        circuit += circuits.convolution(line, convolution) + circuits.pooling(line, pooling)
        weights += [*convolution, *pooling]
        line = circuits.pooled(line)
    return HybridCircuit(circuit, [cirq.PauliString(cirq.Z(qubit)) for qubit in line], turns, weights)
