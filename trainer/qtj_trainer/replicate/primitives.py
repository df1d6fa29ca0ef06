"""Exchange of tensors between replicas within a step. All replicas must make the same calls in the same order."""

from typing import Literal

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
    """
    context = _context()
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
    """
    context = _context()
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
    """
    is_source = tf.equal(_context().replica_id_in_sync_group, source)
    return all_reduce(tf.where(is_source, tensor, tf.zeros_like(tensor)))


def _context() -> tf.distribute.ReplicaContext:
    context = tf.distribute.get_replica_context()
    if context is None:
        raise RuntimeError("replicas exchange tensors within a step: call this in the step function")
    return context
