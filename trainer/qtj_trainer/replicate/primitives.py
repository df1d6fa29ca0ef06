"""Exchange of tensors between replicas within a step. All replicas must make the same calls in the same order.

What one replica would take and several would not is refused on both: a program is often tried on one device first.
"""

from typing import Literal

import numpy as np
import tensorflow as tf

__all__ = ["all_gather", "all_reduce", "broadcast"]

_SCOPE = "exchange"
"""The name by which a profile shows the exchange."""

_OPERATIONS = {"sum": tf.distribute.ReduceOp.SUM, "mean": tf.distribute.ReduceOp.MEAN}


def all_reduce(tensor: tf.Tensor, how: Literal["sum", "mean"] = "sum") -> tf.Tensor:
    """Combines the tensors of all replicas, element by element. It is differentiable.

    Args:
        tensor: The tensor of this replica, of the same shape on each.
        how: Whether to return the sum or the mean.

    Returns:
        The combined tensor, of that shape, the same on every replica.

    Raises:
        ValueError: If the tensor does not have numbers, or they cannot be combined in this way.
    """
    context = _context()
    if how not in _OPERATIONS:
        raise ValueError(f'all_reduce cannot combine tensors by {how!r}: give "sum" or "mean"')
    tensor = _with_numbers(tensor)
    if context.num_replicas_in_sync == 1:
        return tensor
    with tf.name_scope(_SCOPE):
        # A tensor from outside of the step has no device: `identity` gives it one.
        return context.all_reduce(_OPERATIONS[how], tf.identity(tensor))


def all_gather(tensor: tf.Tensor, axis: int = 0) -> tf.Tensor:
    """Concatenates the tensors of all replicas, in the order of the replicas.

    Args:
        tensor: The tensor of this replica; the lengths along `axis` may differ.
        axis: The axis of the concatenation.

    Returns:
        The concatenated tensor, the same on every replica.

    Raises:
        ValueError: If the tensor does not have this axis.
    """
    context = _context()
    tensor = _as_tensor(tensor)
    axis = _checked_axis(axis, tensor.shape.rank)
    if context.num_replicas_in_sync == 1:
        return tensor
    with tf.name_scope(_SCOPE):
        return context.all_gather(tensor, axis)


def broadcast(tensor: tf.Tensor, source: int = 0) -> tf.Tensor:
    """Gives every replica the tensor of one of them.

    Args:
        tensor: The tensor of this replica, of the same shape on each.
        source: Index of the replica whose tensor is returned.

    Returns:
        The tensor of the replica `source`.

    Raises:
        ValueError: If there is no such replica, or the tensor does not have numbers.
    """
    context = _context()
    if not _is_below(source, 0, context.num_replicas_in_sync):
        raise ValueError(
            f"broadcast has the source {source!r}: give the index of a replica, below {context.num_replicas_in_sync}"
        )
    tensor = _with_numbers(tensor)
    is_source = tf.equal(context.replica_id_in_sync_group, source)
    return all_reduce(tf.where(is_source, tensor, tf.zeros_like(tensor)))


def _context() -> tf.distribute.ReplicaContext:
    context = tf.distribute.get_replica_context()
    if context is None:
        raise RuntimeError("replicas exchange tensors within a step: call this in the step function")
    return context


def _as_tensor(value: tf.types.experimental.TensorLike) -> tf.Tensor:
    return value if tf.is_tensor(value) else tf.convert_to_tensor(value)


def _with_numbers(value: tf.types.experimental.TensorLike) -> tf.Tensor:
    tensor = _as_tensor(value)
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex):
        raise ValueError(
            f"replicas add up numbers, and this tensor has the type {tensor.dtype.name}: cast it to a type of numbers"
        )
    return tensor


def _checked_axis(axis: int, rank: int | None) -> int:
    """Returns an axis counted from the first one, as TensorFlow wants it; `rank` is None where it is not known."""
    if rank == 0:
        raise ValueError("all_gather joins tensors along an axis, and this one is a single number: add an axis")
    if rank is None:
        return axis
    if not _is_below(axis, -rank, rank):
        raise ValueError(
            f"all_gather has the axis {axis!r}, and the tensor has the rank {rank}: give an axis from {-rank} to"
            f" {rank - 1}"
        )
    return axis % rank


def _is_below(number: object, first: int, end: int) -> bool:
    """Returns whether this is a whole number from `first` on and below `end`."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and first <= int(number) < end
