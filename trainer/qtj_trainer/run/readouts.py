"""Values of layers from all replicas, for histograms: they travel with the sums of the scores, in one exchange.

Each replica writes its rows into a place of its own, among zeros, so that the sum over the replicas holds them all:

    replica 0    a b c .  0 0 0 0
    replica 1    0 0 0 0  d e f .      "." pads
    sum          a b c .  d e f .

That is the size of a batch's readouts. To gather them would take two exchanges more: of their lengths, then of them.
"""

from collections.abc import Mapping

import tensorflow as tf

__all__ = ["all_readouts", "in_places"]


def in_places(readouts: Mapping[str, tf.Tensor], is_real: tf.Tensor) -> tf.Tensor:
    """Returns this replica's readouts among zeros.

    Args:
        readouts: Those of each layer, (examples, ...) of known shape but for the number of examples.
        is_real: (rows,), 1 for examples and 0 for the padding after them, which the readouts need not have. All
            replicas have as many rows.

    Returns:
        (replicas, rows, 1 + values), `is_real` first.
    """
    context = tf.distribute.get_replica_context()
    flat = [tf.reshape(each, [-1, _values(each)]) for each in readouts.values()]
    padded = [tf.pad(each, [[0, tf.size(is_real) - tf.shape(each)[0]], [0, 0]]) for each in flat]
    mine = tf.concat([is_real[:, tf.newaxis], *padded], axis=1)
    places = tf.concat([[context.num_replicas_in_sync], tf.shape(mine)], axis=0)
    return tf.scatter_nd([[context.replica_id_in_sync_group]], mine[tf.newaxis], places)


def all_readouts(total: tf.Tensor, readouts: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Returns the values of each layer for the examples of all replicas.

    Args:
        total: The sum of what `in_places` returned, over all replicas.
        readouts: What it was given here.

    Returns:
        For each layer (examples times values,).
    """
    rows = tf.reshape(total, [-1, 1 + sum(map(_values, readouts.values()))])
    left = tf.boolean_mask(rows[:, 1:], rows[:, 0] > 0)
    found = {}
    for name, each in readouts.items():
        size = _values(each)
        found[name], left = tf.reshape(left[:, :size], [-1]), left[:, size:]
    return found


def _values(readout: tf.Tensor) -> int:
    """Returns how many values a layer has for one example."""
    count: int = readout.shape[1:].num_elements()
    return count
