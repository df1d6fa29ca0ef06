"""Values of layers from all replicas, for histograms. They are exchanged together with the sums of the scores.

Each replica writes its rows at its own position, among zeros, so that the sum over the replicas has the rows of all:

    replica 0    a b c .  0 0 0 0
    replica 1    0 0 0 0  d e f .      "." pads
    sum          a b c .  d e f .

The sum has the size of a batch's readouts. An all-gather would need two more exchanges: lengths, then rows.
"""

from collections.abc import Mapping

import tensorflow as tf

__all__ = ["all_readouts", "in_places"]


def in_places(readouts: Mapping[str, tf.Tensor], is_real: tf.Tensor) -> tf.Tensor:
    """Returns this replica's readouts among zeros.

    Args:
        readouts: The readouts of each layer, (examples, ...); only the number of examples may be dynamic.
        is_real: float32 (rows,), 1 for examples and 0 for the padding after them, which the readouts need not have. All
            replicas have the same number of rows.

    Returns:
        float32 (replicas, rows, 1 + values), `is_real` first.
    """
    context = tf.distribute.get_replica_context()
    flat = [tf.cast(tf.reshape(each, [-1, _values(each)]), is_real.dtype) for each in readouts.values()]
    padded = [tf.pad(each, [[0, tf.size(is_real) - tf.shape(each)[0]], [0, 0]]) for each in flat]
    mine = tf.concat([is_real[:, tf.newaxis], *padded], axis=1)
    places = tf.concat([[context.num_replicas_in_sync], tf.shape(mine)], axis=0)
    return tf.scatter_nd([[context.replica_id_in_sync_group]], mine[tf.newaxis], places)


def all_readouts(total: tf.Tensor, readouts: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Returns the values of each layer for the examples of all replicas.

    Args:
        total: The sum over all replicas of what `in_places` returned, (replicas, rows, 1 + values).
        readouts: The readouts that were given to `in_places` here.

    Returns:
        For each layer, (examples times values,).
    """
    rows = tf.reshape(total, [-1, 1 + sum(map(_values, readouts.values()))])
    left = tf.boolean_mask(rows[:, 1:], rows[:, 0] > 0)
    values = {}
    for name, each in readouts.items():
        size = _values(each)
        values[name], left = tf.reshape(left[:, :size], [-1]), left[:, size:]
    return values


def _values(readout: tf.Tensor) -> int:
    """Returns how many values a layer has for one example."""
    count: int = readout.shape[1:].num_elements()
    return count
