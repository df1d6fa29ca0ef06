"""Splits examples over replicas: each example exactly once in an epoch, for any number of replicas.

Keras shuffles arrays differently in each process of a multi-worker strategy, so that an epoch has some examples twice
and others not at all. Here every replica computes the same order from the seed and the epoch, and takes its columns of
the same table:

    order of epoch 3    7 2 9 4 | 0 8 5 1 | 3 6 . .        10 examples, batch 4
    replica 0 of 2      7   9   | 0   5   | 3   .          "." pads with weight 0
    replica 1 of 2        2   4 |   8   1 |   6   .

The weights of one batch sum to 1 over all replicas. So the weighted sum of errors, summed over replicas, is the mean
over the real examples of the batch: the same number, and the same gradient, as on a single replica.

Padding gives all batches one shape, which a multi-worker strategy needs. A step removes it before the model
(`Batch.cut`), so that it costs no computation; where there can be none (`are_padded`), nothing is removed. The table
never has more columns than there are examples.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from qtj_trainer.errors import UserError
from qtj_trainer.workloads import Examples

__all__ = ["Batch", "are_padded", "batch_at", "batch_length", "batches", "inputs_named", "steps_per_epoch"]

_FOREVER = np.iinfo(np.int64).max


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


class Batch(NamedTuple):
    """The examples of one replica in one step.

    Attributes:
        inputs: (examples, ...), the inputs of the model.
        labels: float32 (examples,).
        weights: float32 (examples,); 0 for padding, otherwise 1 / (examples of the global batch).
    """

    inputs: tf.Tensor
    labels: tf.Tensor
    weights: tf.Tensor

    @property
    def is_real(self) -> tf.Tensor:
        """1 for examples, 0 for padding."""
        return tf.cast(self.weights > 0, tf.float32)

    def cut(self, least: int = 0) -> "Batch":
        """Returns the batch without its padding, which is at its end. In a graph, its length is not static.

        Args:
            least: Rows that always stay, because the batch of a replica may be padding only.
        """
        length = tf.maximum(tf.math.count_nonzero(self.weights), least)
        return Batch(*(each[:length] for each in self))


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """Returns the number of batches that contain every example once."""
    return -(-examples // batch_size)


def batch_length(examples: int, batch_size: int, row: int) -> int:
    """Returns the number of examples in one batch of an epoch: fewer in the last one."""
    return min(batch_size, examples - row * batch_size)


def are_padded(examples: int, batch_size: int, replicas: int) -> bool:
    """Tells whether some replica has padding in some batch of an epoch."""
    width = min(batch_size, examples)
    return bool(examples % width or width % replicas)


# AutoGraph would look for control flow, for an eighth of a second, and find none.
@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]  # TensorFlow has no types
def batches(
    examples: Examples,
    batch_size: int,
    *,
    replica: int = 0,
    replicas: int = 1,
    seed: int | None = None,
    first_step: int = 0,
) -> tf.data.Dataset:
    """Builds one replica's share of all batches, for an infinite number of epochs.

    The dataset has no end: with one, a multi-worker strategy asks all peers before each batch whether they have more
    data, and that costs as much as the exchange of gradients.

    Args:
        examples: The same on every replica.
        batch_size: Examples in one step of all replicas together.
        replica: Index of the replica, from 0.
        replicas: Number of replicas.
        seed: Seed of the order, which is another one in each epoch; None keeps the given order.
        first_step: The first step, from 0; an epoch's order does not depend on it.

    Returns:
        A dataset of `Batch`, `steps_per_epoch` of them in each epoch.
    """
    first_epoch, row = divmod(first_step, steps_per_epoch(len(examples), batch_size))

    def share(epoch: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(
            _share(len(examples), batch_size, seed, epoch, replica=replica, replicas=replicas)
        )

    chosen = tf.data.Dataset.range(first_epoch, _FOREVER).flat_map(share).skip(row)
    made = _decoded(chosen, examples) if examples.decode else _gathered(chosen, examples)
    # TensorFlow does not see by itself that there is no end.
    endless = made.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return endless.prefetch(tf.data.AUTOTUNE)


def batch_at(
    examples: Examples, batch_size: int, *, epoch: tf.Tensor, row: tf.Tensor, seed: int | None = None
) -> Batch:
    """Returns one whole batch by its position: the same that `batches` has there for a single replica.

    Args:
        examples: All examples. They become part of the graph that calls this function.
        batch_size: Examples in one step.
        epoch: int64, from 0.
        row: int64, the batch's number in its epoch, from 0.
        seed: As in `batches`.
    """
    chosen, weights = (each[row] for each in _share(len(examples), batch_size, seed, epoch))
    inputs = tf.gather(tf.constant(examples.inputs), chosen)
    if examples.decode:
        inputs = tf.map_fn(examples.decode, inputs, fn_output_signature=tf.float32)
    return Batch(inputs, tf.gather(tf.constant(examples.labels), chosen), weights)


def _gathered(chosen: tf.data.Dataset, examples: Examples) -> tf.data.Dataset:
    inputs, labels = tf.constant(examples.inputs), tf.constant(examples.labels)

    def gather(indices: tf.Tensor, weights: tf.Tensor) -> Batch:
        with tf.name_scope("data"):  # by which a profile shows it
            return Batch(tf.gather(inputs, indices), tf.gather(labels, indices), weights)

    return chosen.map(gather, num_parallel_calls=tf.data.AUTOTUNE)


def _decoded(chosen: tf.data.Dataset, examples: Examples) -> tf.data.Dataset:
    """Decodes each example by itself, several in parallel, and makes batches of them again."""
    decode = examples.decode
    assert decode is not None
    inputs, labels = tf.constant(examples.inputs), tf.constant(examples.labels)

    def read(index: tf.Tensor, weight: tf.Tensor) -> Batch:
        with tf.name_scope("data"):
            return Batch(decode(inputs[index]), labels[index], weight)

    length = chosen.element_spec[0].shape[0]
    return chosen.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE).batch(length, drop_remainder=True)


def _order(count: int, seed: int | None, epoch: tf.Tensor) -> tf.Tensor:
    order = tf.range(count, dtype=tf.int64)
    if seed is None:
        return order
    return tf.random.experimental.stateless_shuffle(order, seed=tf.stack([seed, epoch]))


def _share(
    count: int, batch_size: int, seed: int | None, epoch: tf.Tensor, *, replica: int = 0, replicas: int = 1
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the indices (steps, batch/replicas) of one replica in one epoch, and their weights."""
    steps, width = steps_per_epoch(count, batch_size), min(batch_size, count)
    columns = replicas * -(-width // replicas)
    table = tf.pad(_order(count, seed, epoch), [[0, steps * width - count]], constant_values=-1)
    table = tf.reshape(table, [steps, width])
    real = tf.cast(table >= 0, tf.float32)
    weights = tf.pad(real / tf.reduce_sum(real, axis=1, keepdims=True), [[0, 0], [0, columns - width]])
    chosen = tf.pad(tf.maximum(table, 0), [[0, 0], [0, columns - width]])
    return chosen[:, replica::replicas], weights[:, replica::replicas]


@contextmanager
def inputs_named(*parts: Examples) -> Iterator[None]:
    """Finds the input that caused an error, by decoding all inputs again, one after the other.

    TensorFlow's error has the reason, but not the file. So training does not need to check all files before it starts:
    there may be hundreds of thousands.

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
