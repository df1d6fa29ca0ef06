"""A device of PennyLane: `qml.device("qtj.simulator", wires=4)`.

device         what PennyLane calls: expectation values and gradients by the engine, all else from the state
circuits       a circuit as gates and wires, apart from the values of its angles; what it measures as Pauli sums
"""

from qtj_simulator.pennylane.device import SimulatorDevice

__all__ = ["SimulatorDevice"]
