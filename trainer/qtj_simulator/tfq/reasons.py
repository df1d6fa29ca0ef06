"""Arguments of a layer that the fused engine cannot follow."""

import tensorflow as tf
from tensorflow_quantum.python.differentiators import Adjoint, Differentiator, ParameterShift

__all__ = ["reason_for_tfq"]

_EXACT = (Adjoint, ParameterShift)
"""Differentiators that return the derivative itself, as the engine does."""


def reason_for_tfq(
    *, backend: object, differentiator: Differentiator | None = None, repetitions: int | None = None
) -> str:
    """Returns why TensorFlow Quantum must simulate a layer with these arguments; empty if the engine can."""
    if repetitions is not None:
        return "repetitions ask for samples, and the engine computes exact values"
    if backend is not None and not (isinstance(backend, str) and backend == "noiseless"):
        return f"the backend is {backend}"
    if differentiator is not None and type(differentiator) not in _EXACT:
        return f"the differentiator {type(differentiator).__name__} is not exact"
    if isinstance(tf.distribute.get_strategy(), tf.distribute.experimental.ParameterServerStrategy):
        return "the workers of a parameter server run no Python, which reads the circuits"
    return ""
