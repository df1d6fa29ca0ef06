"""Expectation values and gradients of parametrised circuits, exact, with noise, or measured in shots.

    engine = expectation_engine(circuit, readouts, inputs=[x], weights=[a, b])
    values = engine.values(inputs, weights)                       NumPy arrays
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)

    states = state_engine(circuit, inputs=[x], weights=[a, b])
    amplitudes = states.statevectors(inputs, weights)             probabilities, samples and kernels too

This needs NumPy and Cirq. The layers need TensorFlow too, which is imported when one of them is first used:

    PQC                  a circuit as a layer of Keras 2, with learned angles
    expectation_layer    the same, with checked symbols
    NoisyPQC, Estimate   a circuit with noise and shots
    tfq                  TensorFlow Quantum's interface, with its layers on our engine

Each package and module imports only from those below it:

    keras          a layer of Keras 3, with TensorFlow, JAX or PyTorch, for who has Keras 3 installed
    tfq            a program of TensorFlow Quantum changes one import
    noise          noise and shots, by quantum trajectories
    jax            a function of JAX, with gradients, for who has JAX installed
    xla            the engine as custom calls of XLA, for `jax`
    pennylane      a device of PennyLane, for who has PennyLane installed
    torch          a function and a module of PyTorch, for who has PyTorch installed
    pqc            the Keras layer, on the fused engine or on that of TensorFlow Quantum (`tfq_op`)
    initial_angles initial values of learned angles
    groups         groups of examples in one call of the engine
    states         statevectors, probabilities, samples, fidelities
    expectation    the engine for a circuit
    fused          our engine: gates fused into 4x4 blocks, one backward sweep for all gradients, native vector code
    qasm           a circuit as OpenQASM
    specification  a circuit with its readouts and symbols
    projectors     projectors as sums of Pauli strings
    operations     what Cirq knows about a gate
    optimizers     steps of Adam, SPSA and the quantum natural gradient
    engines        names and precisions of the engines; threads
    quiet          what TensorFlow prints at each import
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qtj_contract.control_groups import cpu_limit
from qtj_simulator.quiet import import_quietly

if TYPE_CHECKING:
    from qtj_simulator.engines import EngineName
    from qtj_simulator.expectation import expectation_engine
    from qtj_simulator.fused.engine import Engine
    from qtj_simulator.fused.gates import UnsupportedError
    from qtj_simulator.noise.estimators import Estimate
    from qtj_simulator.noise.layer import NoisyPQC
    from qtj_simulator.pqc import PQC, expectation_layer
    from qtj_simulator.states import StateEngine, fidelities, state_engine

__all__ = [
    "PQC",
    "Engine",
    "EngineName",
    "Estimate",
    "NoisyPQC",
    "StateEngine",
    "UnsupportedError",
    "expectation_engine",
    "expectation_layer",
    "fidelities",
    "state_engine",
]

_MODULES = {
    "Engine": "fused.engine",
    "EngineName": "engines",
    "Estimate": "noise.estimators",
    "NoisyPQC": "noise.layer",
    "PQC": "pqc",
    "StateEngine": "states",
    "UnsupportedError": "fused.gates",
    "expectation_engine": "expectation",
    "expectation_layer": "pqc",
    "fidelities": "states",
    "state_engine": "states",
}
"""Where the names of this package are: what does not need TensorFlow works without it, and starts without it."""

# TensorFlow reads these variables when it is first imported or first used, and so before it is imported here.
# TensorFlow Quantum supports only Keras 2.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
# TensorFlow's C++ code logs each plugin that it registers twice and each GPU that it does not find, many times in a
# multi-worker run. Errors that matter are exceptions.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Otherwise the first process takes all memory of each GPU, and the next one that shares it cannot start.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
# TensorFlow counts the processors of the node: a container with a limit of 2 of 64 would run 64 threads, and the kernel
# would throttle it for most of each scheduling period.
if _processors := cpu_limit():
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(_processors))
import_quietly()


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used.

    Raises:
        AttributeError: There is no such name.
        ImportError: It needs TensorFlow, which is not installed.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as problem:
        if problem.name not in {"tensorflow", "tf_keras"}:
            raise
        raise ImportError(
            f"{name} needs TensorFlow: install quantumtrainingjob-simulator with its extra tensorflow"
        ) from problem
    globals()[name] = found
    return found
