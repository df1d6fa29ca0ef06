"""How replicas exchange tensors within a step. All of them have to make the same calls in the same order."""

from typing import Literal

import tensorflow as tf

__all__ = ["all_gather", "all_reduce", "broadcast"]

_OPERATIONS = {"sum": tf.distribute.ReduceOp.SUM, "mean": tf.distribute.ReduceOp.MEAN}


def all_reduce(tensor: tf.Tensor, how: Literal["sum", "mean"] = "sum") -> tf.Tensor:
    """Combines the tensors of all replicas, element by element; gradients flow back through it.

    Args:
        tensor: This replica's, of the same shape on each.
        how: Their sum or their mean.

    Returns:
        The combined tensor, the same on every replica.
    """
    context = _context()
    if context.num_replicas_in_sync == 1:
        return tensor
    return context.all_reduce(_OPERATIONS[how], tf.identity(tensor))  # here: what came in from outside has no device


def all_gather(tensor: tf.Tensor, axis: int = 0) -> tf.Tensor:
    """Puts the tensors of all replicas one after the other, in the order of the replicas.

    Args:
        tensor: This replica's; the lengths along `axis` may differ.
        axis: Along which axis.

    Returns:
        The joined tensor, the same on every replica.
    """
    context = _context()
    return tensor if context.num_replicas_in_sync == 1 else context.all_gather(tensor, axis)


def broadcast(tensor: tf.Tensor, source: int = 0) -> tf.Tensor:
    """Gives every replica the tensor of one of them.

    Args:
        tensor: This replica's, of the same shape on each.
        source: Whose tensor to take.

    Returns:
        The tensor of the replica `source`.
    """
    is_source = tf.equal(_context().replica_id_in_sync_group, source)
    return all_reduce(tf.where(is_source, tensor, tf.zeros_like(tensor)))


def _context() -> tf.distribute.ReplicaContext:
    context = tf.distribute.get_replica_context()
    if context is None:
        raise RuntimeError("replicas exchange tensors within a step: call this in the function that is given to run")
    return context
