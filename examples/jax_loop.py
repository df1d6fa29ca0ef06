"""A training loop of one's own in JAX, without data: the ground state of an Ising chain, from noisy energies.

A circuit of rotations and entangling gates is learned until its energy is that of the ground state (a variational
quantum eigensolver, arXiv:1304.3061). The slope is estimated from the energies at two random neighbours (SPSA, Spall
1992), each measured with so many shots: the random key is part of the state, so that a loop that was interrupted goes
on with the same digits. Alone it runs as any program: python examples/jax_loop.py
"""

from qtj_trainer import Program

EPOCHS = 10
STEPS, QUBITS, LAYERS, FIELD, SHOTS = 200, 4, 3, 1.0, 1000
program = Program(epochs=EPOCHS, checkpoint_steps=50)  # before JAX, which starts threads

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

states = jnp.arange(2**QUBITS)
spins = 1.0 - 2.0 * ((states[:, None] >> jnp.arange(QUBITS)) & 1)
bonds = -(spins * jnp.roll(spins, 1, axis=1)).sum(axis=1)  # of each basis state: neighbours like to be equal


def turned(psi: jax.Array, angle: jax.Array, qubit: int) -> jax.Array:
    """Turns a qubit of a real statevector about Y."""
    cosine, sine = jnp.cos(angle / 2), jnp.sin(angle / 2)
    return cosine * psi - sine * spins[:, qubit] * psi[states ^ (1 << qubit)]


def wave(angles: jax.Array) -> jax.Array:
    """Returns the statevector, float32 (2^QUBITS,), of angles (LAYERS, QUBITS)."""
    psi = jnp.zeros(2**QUBITS).at[0].set(1.0)
    both = [((states >> a) & (states >> ((a + 1) % QUBITS)) & 1) for a in range(QUBITS)]
    for layer in angles:
        for qubit in range(QUBITS):
            psi = turned(psi, layer[qubit], qubit)
        for each in both:
            psi = psi * (1 - 2 * each)  # CZ of neighbours
    return psi


def energy(angles: jax.Array) -> jax.Array:
    """Returns the energy of H = - sum Z Z - FIELD sum X, as a statevector knows it."""
    psi = wave(angles)
    flipped = sum(psi[states ^ (1 << qubit)] for qubit in range(QUBITS))
    return jnp.sum(bonds * psi**2) - FIELD * jnp.sum(psi * flipped)


def measured(angles: jax.Array, key: jax.Array) -> jax.Array:
    """Returns the energy as a device would measure it, with the scatter of its shots."""
    return energy(angles) + jnp.sqrt(2 * QUBITS / SHOTS) * jax.random.normal(key)


@jax.jit
def step(angles: jax.Array, key: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Goes down the slope between two random neighbours."""
    key, *draws = jax.random.split(key, 4)
    aside = 0.1 * jax.random.rademacher(draws[0], angles.shape, jnp.float32)
    up, down = measured(angles + aside, draws[1]), measured(angles - aside, draws[2])
    rate = 0.05 / (1 + count / 100) ** 0.602
    return angles - rate * (up - down) / (2 * aside), key, (up + down) / 2


def ground() -> float:
    """Returns the lowest energy there is, by diagonalising H."""
    matrix = jnp.diag(bonds)
    for qubit in range(QUBITS):
        matrix = matrix.at[states, states ^ (1 << qubit)].add(-FIELD)
    return float(jnp.linalg.eigvalsh(matrix)[0])


angles = 0.1 * jax.random.normal(jax.random.key(1), (LAYERS, QUBITS))
if program.inferring:  # the Job of spec.inference: judge exactly the angles that are stored
    angles = program.load(angles)
    program.report({"energy": energy(angles), "error": energy(angles) - ground()})

state = program.state(angles=angles, key=jax.random.key(0), count=jnp.int32(0))
for epoch in program.epochs():
    for _ in epoch.steps(STEPS):  # after a restart, those that the last checkpoint does not hold
        state.angles, state.key, loss = step(state.angles, state.key, state.count)
        state.count += 1
        epoch.step(loss=loss)
    print(f"epoch {epoch.number}/{EPOCHS}  energy {energy(state.angles):.4f}  ground state {ground():.4f}", flush=True)
program.finish(state.angles, {"energy": energy(state.angles), "error": energy(state.angles) - ground()})
