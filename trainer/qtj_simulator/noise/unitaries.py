"""From angles to the matrices of blocks, as a graph of TensorFlow, which differentiates it."""

from collections.abc import Mapping, Sequence
from math import pi

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_simulator.fused.blocks import Block, Placed
from qtj_simulator.fused.gates import Gate
from qtj_simulator.fused.program import embedded, merged
from qtj_simulator.noise.program import without_phase

__all__ = ["Unitaries"]

Array = NDArray[np.float64]


class Unitaries:
    """The gates of blocks with their angles, and the products of their matrices.

    Attributes:
        eigenvalues: Of each gate with an angle, in half turns.
    """

    def __init__(self, blocks: Sequence[Block], symbols: Sequence[str]) -> None:
        """Collects the gates.

        Args:
            blocks: The blocks.
            symbols: The names of all symbols, in the order in which `angles` gets their values.
        """
        placed = [list(merged(block)) for block in blocks]
        gates = [each for block in placed for each in block]
        turning = [gate for gate, _ in gates if gate.angle is not None]
        self.eigenvalues = [gate.eigenvalues for gate in turning]
        self._slopes, self._constants = _linear(turning, {name: index for index, name in enumerate(symbols)})
        self._half_turns, self._projectors, self._which = _components(gates)
        self._slots = _slots([len(block) for block in placed])

    def angles(self, symbols: tf.Tensor) -> tf.Tensor:
        """Returns the angles, float64 (rows, gates with an angle), for float32 (rows, symbols)."""
        return tf.cast(symbols, tf.float64) @ self._slopes + self._constants

    def matrices(self, angles: tf.Tensor) -> tf.Tensor:
        """Returns float32 (rows, blocks, 32), real and imaginary parts, for float64 (rows, gates with an angle)."""
        turned = pi * tf.gather(tf.pad(angles, [[0, 0], [0, 1]]), self._which, axis=1)[..., None] * self._half_turns
        gates = tf.einsum("rgk,gkij->rgij", tf.complex(tf.cos(turned), tf.sin(turned)), self._projectors)
        identity = tf.eye(4, batch_shape=[tf.shape(angles)[0], 1], dtype=tf.complex128)
        gates = tf.concat([gates, identity], axis=1)
        first, *others = self._slots
        product = tf.gather(gates, first, axis=1)
        for slot in others:
            product = tf.gather(gates, slot, axis=1) @ product
        parts = [tf.reshape(part, [-1, len(first), 16]) for part in (tf.math.real(product), tf.math.imag(product))]
        return tf.cast(tf.concat(parts, axis=2), tf.float32)


def _linear(gates: Sequence[Gate], place: Mapping[str, int]) -> tuple[Array, Array]:
    slopes, constants = np.zeros((len(place), len(gates))), np.zeros(len(gates))
    for column, gate in enumerate(gates):
        assert gate.angle is not None
        constants[column] = gate.angle.constant
        for name, slope in gate.angle.slopes:
            slopes[place[name], column] = slope
    return slopes, constants


def _components(
    gates: Sequence[Placed],
) -> tuple[Array, NDArray[np.complex128], NDArray[np.int32]]:
    """Eigenvalues and projectors of all gates, padded with zeros; and which angle each has, the last one being 0."""
    most = max((len(gate.eigenvalues) for gate, _ in gates), default=1)
    eigenvalues, projectors = np.zeros((len(gates), most)), np.zeros((len(gates), most, 4, 4), complex)
    for row, (gate, positions) in enumerate(gates):
        many = slice(len(gate.eigenvalues))
        eigenvalues[row, many] = _centred(np.array(gate.eigenvalues))
        projectors[row, many] = [embedded(each, positions) for each in _projectors(gate)]
    turning = [gate.angle is not None for gate, _ in gates]
    which = np.where(turning, np.cumsum(turning) - 1, sum(turning))
    return eigenvalues, projectors, which.astype(np.int32)


def _centred(eigenvalues: Array) -> Array:
    """Shifts the eigenvalues of a gate, so that the least and the largest one are opposite."""
    return eigenvalues - float(eigenvalues.min() + eigenvalues.max()) / 2


def _projectors(gate: Gate) -> NDArray[np.complex128]:
    return gate.projectors if gate.angle else without_phase(gate.projectors[0])[np.newaxis]


def _slots(sizes: Sequence[int]) -> list[NDArray[np.int32]]:
    """The first gates of all blocks, then their second ones, and so on; the identity where a block has no more."""
    many = np.array(sizes, np.int32)
    starts = np.cumsum(many, dtype=np.int32) - many
    return [np.where(depth < many, starts + depth, many.sum()) for depth in range(max([1, *sizes]))]
