"""Your own training loop in JAX, without data: the ground state of an Ising chain, by gradients with noise.

The alternating circuit of QAOA learns to have the lowest energy (a variational quantum eigensolver, arXiv:1304.3061).
Its gradients have the noise of a measurement with SHOTS shots. The random key is part of the state, so a loop that
was interrupted gets the same digits. The program also runs without a job: python examples/jax_loop.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 10
STEPS, RATE, QUBITS, LAYERS, FIELD, SHOTS = 200, 0.005, 6, 3, 1.0, 10_000
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS, checkpoint_steps=50)  # before JAX, which starts threads

import jax
import jax.numpy as jnp

states = jnp.arange(2**QUBITS)
spins = 1.0 - 2.0 * ((states[:, None] >> jnp.arange(QUBITS)) & 1)
bonds = -(spins * jnp.roll(spins, 1, axis=1)).sum(axis=1)  # of each basis state: neighbours like to be equal


def wave(angles: jax.Array) -> jax.Array:
    """Returns the statevector, complex64 (2^QUBITS,), of angles (LAYERS, 2)."""
    psi = jnp.full(2**QUBITS, 2 ** (-QUBITS / 2), jnp.complex64)
    for bond, field in angles:  # exp(-i bond H_ZZ), then exp(i field X) of each qubit
        psi = jnp.exp(-1j * bond * bonds) * psi
        for qubit in range(QUBITS):
            psi = jnp.cos(field) * psi + 1j * jnp.sin(field) * psi[states ^ (1 << qubit)]
    return psi


def energy(angles: jax.Array) -> jax.Array:
    """Returns the energy of H = - sum Z Z - FIELD sum X, as a statevector knows it."""
    psi = wave(angles)
    flipped = sum(psi[states ^ (1 << qubit)] for qubit in range(QUBITS))
    return jnp.sum(bonds * jnp.abs(psi) ** 2) - FIELD * jnp.sum((psi.conj() * flipped).real)


@jax.jit
def step(angles: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Takes one step of gradient descent with noise; returns angles, key and the energy before the step."""
    key, draw = jax.random.split(key)
    value, slopes = jax.value_and_grad(energy)(angles)
    noise = jax.random.normal(draw, angles.shape) * jnp.sqrt(QUBITS / SHOTS)
    return angles - RATE * (slopes + noise), key, value


def ground() -> float:
    """Returns the lowest energy there is, by diagonalising H."""
    matrix = jnp.diag(bonds)
    for qubit in range(QUBITS):
        matrix = matrix.at[states, states ^ (1 << qubit)].add(-FIELD)
    return float(jnp.linalg.eigvalsh(matrix)[0])


angles = jnp.full((LAYERS, 2), 0.3)
if program.inferring:  # the Job of spec.inference: evaluate exactly the angles that are stored
    angles = program.load(angles)
    program.report({"energy": energy(angles), "error": energy(angles) - ground()})

state = program.state(angles=angles, key=jax.random.key(seed))
for epoch in program.epochs():
    for _ in epoch.steps(STEPS):  # after a restart, those that the last checkpoint does not hold
        state.angles, state.key, loss = step(state.angles, state.key)
        epoch.step(loss=loss)
    epoch.report(energy=energy(state.angles), ground_state=ground())  # a line of the log
program.finish(state.angles, {"energy": energy(state.angles), "error": energy(state.angles) - ground()})
