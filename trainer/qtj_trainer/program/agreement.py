"""Checks over the strategy of TensorFlow that all processes continue from the same checkpoint."""

import tensorflow as tf

from qtj_trainer.errors import UserError

__all__ = ["agree"]


def agree(step: int, strategy: tf.distribute.Strategy) -> None:
    """Raises UserError unless all processes have found a checkpoint of the same step. Nothing else checks this."""
    if strategy.num_replicas_in_sync == 1:
        return
    moments = tf.constant([step, step * step], tf.int64)
    mine = tf.function(lambda: strategy.run(lambda: tf.identity(moments)), autograph=False)  # a value for each replica
    total, squares = strategy.reduce(tf.distribute.ReduceOp.SUM, mine(), axis=None).numpy()
    if squares * strategy.num_replicas_in_sync != total * total:
        raise UserError("the workers find different checkpoints: put the artifacts where all of them can read them")
