"""Estimates of readouts from trajectories and shots, with their variances.

    every branch is simulated   values are exact; with shots, each Pauli string has a binomial distribution of its own
    trajectories                the mean over them; with shots, each is measured once, and is one shot

Random numbers are TensorFlow's stateless ones, by Philox: they depend on the seed and their place alone. Sums over
trajectories are in double precision. So estimates do not depend on the number of threads.
"""

from typing import Any, NamedTuple, NoReturn

import numpy as np
import tensorflow as tf

from qtj_simulator.engines import default_threads
from qtj_simulator.fused.library import library
from qtj_simulator.fused.observables import Readouts
from qtj_simulator.fused.op import operations
from qtj_simulator.noise.channels import Branches
from qtj_simulator.noise.program import Program
from qtj_simulator.noise.shifts import Shifts
from qtj_simulator.noise.unitaries import Unitaries

__all__ = ["Estimate", "Estimator", "Sampling", "Trajectories"]


class Trajectories:
    """Expectation values of Pauli strings for each trajectory of each row, with gradients for the matrices."""

    def __init__(self, program: Program, terms: int) -> None:
        """Takes a program.

        Raises:
            UnsupportedError: If the engine does not support the machine.
        """
        self._operations, self._terms = operations(), terms
        library().qtj_use_threads(default_threads())
        self._program = program

    def __call__(self, matrices: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
        """Runs the trajectories.

        Args:
            matrices: The blocks, float32 (rows, blocks, 32).
            uniforms: float32 (rows, trajectories, channels), from 0 to 1: each chooses a branch.

        Returns:
            float32 (rows, trajectories, terms).
        """
        values = self._operations.qtj_trajectories(self._program.integers, self._program.branches, matrices, uniforms)
        values.set_shape([None, None, self._terms])  # a shape function in C cannot see the program
        return values


@tf.RegisterGradient("QtjTrajectories")  # type: ignore[untyped-decorator]  # TensorFlow carries no types
def _slopes(operation: Any, upstream: tf.Tensor) -> Any:
    by_matrices = operations().qtj_trajectories_grad(*operation.inputs, upstream)
    return None, None, by_matrices, None


@tf.RegisterGradient("QtjTrajectoriesGrad")  # type: ignore[untyped-decorator]
def _no_second_derivatives(*_: Any) -> NoReturn:
    raise NotImplementedError(
        "the noisy expectation layer has no gradient of its gradient: its engine computes only first derivatives"
    )


_ROWS = 64
"""Shifted circuits that are simulated side by side, in trajectories: enough to fill the lanes of vectors."""


class Estimate(NamedTuple):
    """An estimate of readouts, float32 (batch, readouts) each.

    Attributes:
        values: The estimates.
        variances: Of the estimates. Exact where every branch is simulated; else the sample variance of the trajectories
            divided by their number, which is not a number for a single one.
    """

    values: tf.Tensor
    variances: tf.Tensor


class Sampling(NamedTuple):
    """How a circuit is sampled.

    Attributes:
        branches: All branches of the circuit, if all are simulated.
        trajectories: How many are simulated otherwise.
        channels: The channels of the circuit.
        shots: How often each Pauli string is measured; None for its expectation value.
    """

    branches: Branches | None
    trajectories: int
    channels: int
    shots: int | None

    @property
    def is_random(self) -> bool:
        """Whether estimates depend on the seed."""
        return self.branches is None or self.shots is not None


class Estimator:
    """Estimates of a circuit's readouts."""

    def __init__(
        self, sampling: Sampling, unitaries: Unitaries, run: Trajectories, readouts: Readouts, shifts: Shifts
    ) -> None:
        """Puts the parts together.

        Args:
            sampling: How the circuit is sampled.
            unitaries: Its gates.
            run: The operation that simulates it.
            readouts: What is measured.
            shifts: The shifts of its angles.
        """
        self._sampling, self._unitaries, self._run, self._shifts = sampling, unitaries, run, shifts
        self._factors = np.zeros((len(readouts.terms), len(readouts.offsets)))
        for row, term in enumerate(readouts.terms):
            self._factors[row, term.readout] = term.factor
        self._offsets = np.array(readouts.offsets)

    def __call__(self, symbols: tf.Tensor, seed: tf.Tensor) -> Estimate:
        """Estimates the readouts of each example.

        Args:
            symbols: float32 (batch, symbols).
            seed: int64 (2,).

        Returns:
            The estimates. With shots, the derivatives of the values by the symbols are estimated by the
            parameter-shift rule, with as many shots for each shifted circuit. Otherwise they are those of the branches.
        """
        angles = self._unitaries.angles(symbols)
        return self._shifted(angles, seed) if self._sampling.shots else self._estimate(angles, seed)

    def _estimate(self, angles: tf.Tensor, seed: tf.Tensor) -> Estimate:
        matrices = self._unitaries.matrices(angles)
        estimated = self._of_all_branches if self._sampling.branches else self._of_trajectories
        values, variances = estimated(matrices, seed)
        return Estimate(tf.cast(values + self._offsets, tf.float32), tf.cast(variances, tf.float32))

    def _of_all_branches(self, matrices: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        branches, shots = self._sampling.branches, self._sampling.shots
        assert branches is not None
        uniforms = tf.tile(branches.uniforms[np.newaxis], [tf.shape(matrices)[0], 1, 1])
        exact = tf.einsum("rtk,t->rk", tf.cast(self._run(matrices, uniforms), tf.float64), branches.probabilities)
        if shots is None:
            values = exact @ self._factors
            return values, tf.zeros_like(values)
        counted = tf.random.stateless_binomial(
            tf.shape(exact), seed, tf.cast(shots, tf.float64), tf.clip_by_value((1 + exact) / 2, 0, 1), tf.float64
        )
        noise = tf.clip_by_value(1 - exact**2, 0, 1) / shots
        return (2 * counted / shots - 1) @ self._factors, noise @ self._factors**2

    def _of_trajectories(self, matrices: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        rows, many = tf.shape(matrices)[0], self._sampling.trajectories
        uniforms = _uniforms([rows, many, self._sampling.channels], seed, 0)
        values = self._run(matrices, uniforms)
        if self._sampling.shots:
            values = tf.where(_uniforms(tf.shape(values), seed, 1) < (1 + values) / 2, 1.0, -1.0)
        readouts = tf.cast(values, tf.float64) @ self._factors
        means = tf.reduce_mean(readouts, axis=1)
        squares = tf.reduce_sum((readouts - means[:, tf.newaxis]) ** 2, axis=1)
        return means, squares / np.float64(many * (many - 1) or np.nan)

    def _shifted(self, angles: tf.Tensor, seed: tf.Tensor) -> Estimate:
        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def estimated(angles: tf.Tensor) -> object:
            made = self._estimate(angles, tf.random.experimental.stateless_fold_in(seed, 0))

            def slopes(upstream: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
                return _once(self._slopes(angles, seed, upstream), angles)

            return tuple(made), slopes

        return Estimate(*estimated(angles))

    def _slopes(self, angles: tf.Tensor, seed: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
        """The gradient of sum(upstream * values) by the angles, some shifts at a time."""
        side_by_side = max(1, _ROWS // self._trajectories)
        padding = -len(self._shifts.angles) % side_by_side
        table = [np.pad(each, (0, padding)).reshape(-1, side_by_side) for each in self._shifts]
        if not table[0].size:
            return tf.zeros_like(angles)

        def part(each: tuple[tf.Tensor, ...]) -> tf.Tensor:
            number, which, offsets, coefficients = each
            turns = tf.one_hot(which, tf.shape(angles)[1], dtype=tf.float64)
            rows = angles + (offsets[:, tf.newaxis] * turns)[:, tf.newaxis]
            flat = tf.reshape(rows, [-1, tf.shape(angles)[1]])
            values = self._estimate(flat, tf.random.experimental.stateless_fold_in(seed, number)).values
            weighted = tf.reshape(values, tf.concat([[side_by_side], tf.shape(upstream)], 0)) * upstream
            by_shift = tf.cast(tf.reduce_sum(weighted, axis=2), tf.float64) * coefficients[:, tf.newaxis]
            return tf.einsum("sb,sg->bg", by_shift, turns)

        numbers = np.arange(1, len(table[0]) + 1, dtype=np.int64)
        parts = tf.map_fn(part, (numbers, *table), parallel_iterations=1, fn_output_signature=tf.float64)
        return tf.reduce_sum(parts, axis=0)

    @property
    def _trajectories(self) -> int:
        branches = self._sampling.branches
        return len(branches.probabilities) if branches else self._sampling.trajectories


def _uniforms(shape: object, seed: tf.Tensor, number: int) -> tf.Tensor:
    folded = tf.random.experimental.stateless_fold_in(seed, number)
    return tf.random.stateless_uniform(shape, folded, alg=tf.random.Algorithm.PHILOX)


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _once(slopes: tf.Tensor, angles: tf.Tensor) -> object:
    """Returns the slopes, and refuses to differentiate them by the angles."""

    def no_second_derivatives(*_: tf.Tensor) -> NoReturn:
        raise NotImplementedError(
            "the noisy expectation layer has no gradient of its gradient: its shifts are for first derivatives"
        )

    return slopes, no_second_derivatives
