"""Finds the input that cannot be decoded: TensorFlow's error has the reason, but not the file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from qtj_trainer.errors import UserError
from qtj_trainer.workloads import Examples

__all__ = ["inputs_named"]

_NOISE = re.compile(r"\{\{.*?\}\} ?|.*Iterator::[\w:\[\]]+: |\[Op:.*")
"""Text that TensorFlow puts around the reason: the node and the iterator."""


_DECODING_ERRORS = (
    tf.errors.DataLossError,
    tf.errors.FailedPreconditionError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnknownError,
)
"""Errors of bad inputs. The loss of a peer raises others, so that it does not start a search."""


@contextmanager
def inputs_named(*parts: Examples) -> Iterator[None]:
    """Finds the input that caused an error, by decoding all inputs again, one after the other.

    So training does not need to check all files before it starts; there may be hundreds of thousands.

    Args:
        parts: The examples that are read in the block.

    Raises:
        UserError: If an input cannot be decoded.
    """
    try:
        yield
    except _DECODING_ERRORS as problem:
        for examples in parts:
            _check(examples, problem)
        raise


def _check(examples: Examples, cause: tf.errors.OpError) -> None:
    if not examples.decode:
        return
    decoded = 0
    try:
        for _ in tf.data.Dataset.from_tensor_slices(examples.inputs).map(examples.decode):
            decoded += 1
    except tf.errors.OpError as problem:
        uri, reason = examples.inputs[decoded], _reason(problem)
        raise UserError(f"{uri} cannot be read as an image ({reason}): replace or remove it") from cause


def _reason(problem: tf.errors.OpError) -> str:
    first, *_ = problem.message.splitlines()
    return _NOISE.sub("", first).strip().rstrip(".")
