"""A variational classifier in PennyLane and JAX: it uses its data in each layer, and learns a disc.

It needs PennyLane and Optax, which the extra `examples` installs. It also runs without a job:
python examples/pennylane_classifier.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 10
QUBITS, LAYERS, BATCH, RADIUS = 3, 3, 32, 1.28
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS)  # before JAX, which starts threads

import jax
import jax.numpy as jnp
import optax
import pennylane as qml

jax.config.update("jax_enable_x64", True)


@qml.qnode(qml.device("default.qubit", wires=QUBITS), interface="jax")
def circuit(weights: jax.Array, points: jax.Array) -> object:
    """In each layer, rotates all qubits by the data, and entangles them by learned angles."""
    for layer in weights:
        qml.AngleEmbedding(points, wires=range(QUBITS), rotation="X")
        qml.StronglyEntanglingLayers(layer[None], wires=range(QUBITS))
    return qml.expval(qml.PauliZ(0))


@jax.jit
def scores(params: dict[str, jax.Array], points: jax.Array) -> jax.Array:
    """Returns a number for each point: positive for those that it takes to be inside."""
    angles = jnp.tile(points, 2)[:, :QUBITS]
    return params["scale"] * circuit(params["weights"], angles) + params["bias"]


def loss_of(params: dict[str, jax.Array], points: jax.Array, inside: jax.Array) -> jax.Array:
    """Returns the mean cross entropy."""
    return optax.sigmoid_binary_cross_entropy(scores(params, points), inside).mean()


def accuracy_of(params: dict[str, jax.Array]) -> float:
    """Returns the share of held-out points that are classified right."""
    return float(jnp.mean((scores(params, points[512:]) > 0) == inside[512:]))


optimizer = optax.adam(0.05)


@jax.jit
def step(params: dict[str, jax.Array], moments: optax.OptState, batch: jax.Array) -> tuple[object, object, jax.Array]:
    """Takes a step of the optimizer."""
    loss, slopes = jax.value_and_grad(loss_of)(params, points[batch], inside[batch])
    updates, moments = optimizer.update(slopes, moments)
    return optax.apply_updates(params, updates), moments, loss


data, start, order = jax.random.split(jax.random.key(seed), 3)
points = jax.random.uniform(data, (768, 2), minval=-1.6, maxval=1.6)
inside = (jnp.linalg.norm(points, axis=1) < RADIUS).astype(float)  # half of the square
weights = jax.random.uniform(start, (LAYERS, QUBITS, 3), maxval=2 * jnp.pi)
params = {"weights": weights, "scale": jnp.array(1.0), "bias": jnp.array(0.0)}

if program.inferring:  # the Job of spec.inference: evaluate exactly the weights that are stored
    params = program.load(params)
    program.report({"accuracy": accuracy_of(params)})

state = program.state(params=params, moments=optimizer.init(params))
for epoch in program.epochs():
    batches = jax.random.permutation(jax.random.fold_in(order, epoch.number), 512).reshape(-1, BATCH)
    for batch in epoch.steps(list(batches)):
        state.params, state.moments, loss = step(state.params, state.moments, batch)
        epoch.step(loss=loss)
    epoch.report(val_accuracy=accuracy_of(state.params))
program.finish(state.params, {"accuracy": accuracy_of(state.params)})
