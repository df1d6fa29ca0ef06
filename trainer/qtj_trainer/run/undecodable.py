"""Names the input that cannot be decoded: TensorFlow's error says what is wrong with it, but not which it is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from qtj_trainer.errors import UserError
from qtj_trainer.workloads import Examples

__all__ = ["inputs_named"]

_NOISE = re.compile(r"\{\{.*?\}\} ?|.*Iterator::[\w:\[\]]+: |\[Op:.*")
"""What TensorFlow puts around the reason: the node and the iterator."""


_SIGNS = (
    tf.errors.DataLossError,
    tf.errors.FailedPreconditionError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnknownError,
)
"""What a bad input may raise, as the loss of a peer does not: nobody should wait for a search then."""


@contextmanager
def inputs_named(*parts: Examples) -> Iterator[None]:
    """Looks for the input behind an error, by decoding all of them once more, one after the other.

    So nothing is looked at before training, which may begin with files by the hundred thousand.

    Args:
        parts: The examples that are read meanwhile.

    Raises:
        UserError: If one cannot be decoded.
    """
    try:
        yield
    except _SIGNS as problem:
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
