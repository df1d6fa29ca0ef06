"""TensorCircuit-ng on JAX."""

from typing import Any

import numpy as np

from bench.case import Case
from bench.simulators.cirq_circuit import inputs_of
from bench.simulators.simulator import Simulator


def tensorcircuit(case: Case, _: int) -> Simulator:
    """TensorCircuit-ng on JAX, compiled, vectorised over the batch."""
    import jax
    import jax.numpy as jnp
    import tensorcircuit as tc

    tc.set_backend("jax")
    tc.set_dtype("complex64")
    data, gates = case.data(), list(case.gates())
    index = np.arange(2**case.qubits)
    signs = [1 - 2 * ((index >> (case.qubits - 1 - k)) & 1) for k in case.readouts]
    weights = jnp.asarray(sum(c * s for c, s in zip(data["coefficients"], signs, strict=True)), jnp.float32)

    def loss(parameters: Any, turns: Any) -> Any:
        circuit = tc.Circuit(case.qubits)
        for k in range(case.qubits):
            circuit.h(k)
        for k in range(case.qubits):
            circuit.cz(k, (k + 1) % case.qubits)
        for k in range(case.qubits):
            circuit.rx(k, theta=turns[k])
        for gate in gates:
            if gate.name == "cnot":
                circuit.cnot(*gate.qubits)
            else:
                name = f"r{gate.name}"
                getattr(circuit, name)(*gate.qubits, theta=np.pi * gate.sign * parameters[gate.parameter])
        return jnp.sum(weights * jnp.abs(circuit.state()) ** 2)

    def mean(parameters: Any, turns: Any) -> Any:
        return jnp.mean(jax.vmap(loss, (None, 0))(parameters, turns))

    parameters, turns = jnp.asarray(data["parameters"], jnp.float32), jnp.asarray(inputs_of(case), jnp.float32)
    forward, gradient = jax.jit(mean), jax.jit(jax.grad(mean))
    return Simulator(lambda: np.array(forward(parameters, turns)), lambda: np.array(gradient(parameters, turns)))
