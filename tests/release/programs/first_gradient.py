"""Values and gradients of 8 qubits, for interpreters that have the simulator and no tests: prints them in JSON."""

import json
from itertools import pairwise

import cirq
import numpy as np
import sympy

from qtj_simulator import expectation_engine

LINE = cirq.LineQubit.range(8)
INPUTS, WEIGHTS = sympy.symbols("x:8"), sympy.symbols("a:16")

circuit = cirq.Circuit(cirq.rx(symbol)(qubit) for symbol, qubit in zip(INPUTS, LINE, strict=True))
for layer in WEIGHTS[:8], WEIGHTS[8:]:
    circuit += [cirq.ry(angle)(qubit) for angle, qubit in zip(layer, LINE, strict=True)]
    circuit += [cirq.CZ(*pair) for pair in pairwise(LINE)]
readouts = [cirq.Z(LINE[0]), cirq.X(LINE[3]) * cirq.Y(LINE[4])]
engine = expectation_engine(circuit, readouts, inputs=INPUTS, weights=WEIGHTS, dtype="float64")
given = np.linspace(-2, 2, 24).reshape(3, 8), np.linspace(0, 3, 16)
found = engine.values(*given), *engine.gradients(*given, np.linspace(-1, 1, 6).reshape(3, 2))
print(json.dumps(np.concatenate([each.ravel() for each in found]).tolist()))
