"""Your own training loop in JAX, with any number of workers: a circuit learns which points are in a disc.

Each worker takes its share of each batch, and the processes of JAX sum the gradients. The program needs JAX and also
runs without a job: python examples/jax_workers.py
"""

import argparse
import os
from itertools import pairwise
from typing import Any

from qtj_trainer import Program
from qtj_trainer.errors import TryAgainError

EPOCHS = 10
QUBITS, LAYERS, BATCH, RADIUS, RATE = 3, 3, 32, 1.28, 0.05
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS)  # before JAX, which starts threads; returns when all workers are there

import cirq
import jax
import jax.numpy as jnp
import numpy as np
import sympy
from jax.experimental.multihost_utils import process_allgather
from jax.flatten_util import ravel_pytree

from qtj_simulator.jax import expectation_function

rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
Tree = Any  # of arrays


def circuit() -> Any:
    """Returns the function: each layer of its circuit uses the point, and entangles all qubits by learned angles."""
    qubits, point = cirq.LineQubit.range(QUBITS), sympy.symbols("x y")
    angles = sympy.symbols(f"a:{2 * QUBITS * LAYERS}")
    rest, made = iter(angles), cirq.Circuit()
    for _ in range(LAYERS):
        made += [gate(value)(qubit) for qubit in qubits for gate, value in zip((cirq.rx, cirq.ry), point, strict=True)]
        made += [gate(next(rest))(qubit) for qubit in qubits for gate in (cirq.ry, cirq.rz)]
        made += [cirq.CZ(one, other) for one, other in pairwise(qubits)]
    return expectation_function(made, [cirq.Z(qubit) for qubit in qubits], inputs=point, weights=angles)


def logits(weights: Tree, points: jax.Array) -> jax.Array:
    """Returns a number for each point: above 0, it is inside."""
    return expectations(points, weights["angles"]) @ weights["kernel"] + weights["bias"]


@jax.jit
def share(weights: Tree, points: jax.Array, inside: jax.Array) -> jax.Array:
    """Returns this worker's part of the batch's loss and gradient, as one vector."""

    def loss(weights: Tree) -> jax.Array:
        found = logits(weights, points)
        return jnp.sum(jnp.logaddexp(0, found) - inside * found) / BATCH

    return ravel_pytree(jax.value_and_grad(loss)(weights))[0]


@jax.jit
def adam(weights: Tree, moments: Tree, gradient: jax.Array, step: jax.Array) -> tuple[Tree, Tree]:
    """Takes a step of the optimizer Adam (arXiv:1412.6980)."""
    flat, restored = ravel_pytree(weights)
    first, second = 0.9 * moments[0] + 0.1 * gradient, 0.999 * moments[1] + 0.001 * gradient**2
    scale = RATE * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return restored(flat - scale * first / (jnp.sqrt(second) + 1e-8)), (first, second)


def step(batch: np.ndarray) -> float:
    """Takes a step with the gradient of the whole batch, and returns its loss."""
    mine = batch[rank::workers]
    part = np.asarray(share(state.weights, points[mine], inside[mine]))
    try:
        summed = process_allgather(part).reshape(workers, -1).sum(axis=0)
    except (ValueError, jax.errors.JaxRuntimeError) as problem:  # Gloo's failures are a ValueError of JAX
        raise TryAgainError("another worker has gone: this one starts again with it") from problem
    state.steps += 1
    state.weights, state.moments = adam(state.weights, state.moments, summed[1:], state.steps)
    return float(summed[0])


def accuracy(weights: Tree) -> float:
    """Returns the share of held-out points that are classified right."""
    return float(((logits(weights, points[512:]) > 0) == (inside[512:] > 0)).mean())


if workers > 1 and not program.inferring:  # before the first array, by the variables that the job sets
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, num_processes=workers, process_id=rank)

expectations = circuit()
drawn = np.random.default_rng(seed)  # the same in all workers, so that they begin with the same angles and data
points = drawn.uniform(-1.6, 1.6, (768, 2)).astype(np.float32)
inside = (np.linalg.norm(points, axis=1) < RADIUS).astype(np.float32)  # half of the square
weights = {
    "angles": drawn.uniform(0, 2 * np.pi, 2 * QUBITS * LAYERS).astype(np.float32),
    "kernel": drawn.uniform(-1, 1, QUBITS).astype(np.float32),
    "bias": np.zeros((), np.float32),
}

if program.inferring:  # the Job of spec.inference: evaluate exactly the weights that are stored
    program.report({"accuracy": accuracy(program.load(weights))})

zeros = np.zeros_like(ravel_pytree(weights)[0])
state = program.state(weights=weights, moments=(zeros, zeros), steps=np.zeros((), np.int32))
for epoch in program.epochs():
    order = np.random.default_rng((seed, epoch.number)).permutation(512)
    for batch in epoch.steps(order.reshape(-1, BATCH)):
        epoch.step(loss=step(batch))
    epoch.report(val_accuracy=accuracy(state.weights))
if workers > 1:
    jax.distributed.shutdown()  # all leave together: JAX aborts a process whose coordinator has gone
program.finish(state.weights, {"accuracy": accuracy(state.weights)})
