"""The native operation that runs trajectories, `native/trajectories_op.h`, and the gradient of it."""

from typing import Any, NoReturn

import tensorflow as tf

from qtj_simulator.cpu import default_threads
from qtj_simulator.fused.library import library
from qtj_simulator.fused.op import operations
from qtj_simulator.noise.program import Program

__all__ = ["Trajectories"]


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
