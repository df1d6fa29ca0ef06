"""Batch normalisation over the batches of all replicas, with nothing but all_reduce."""

from qtj_trainer.replicate import Input, Replicator, all_reduce

replicator = Replicator()

import tensorflow as tf

BATCH = 8


def normalised(x: tf.Tensor) -> tf.Tensor:
    """Subtracts the mean of the global batch and divides by its standard deviation; gradients include both."""
    mean = all_reduce(tf.reduce_mean(x, axis=0), "mean")
    variance = all_reduce(tf.reduce_mean((x - mean) ** 2, axis=0), "mean")
    return (x - mean) / tf.sqrt(variance + 1e-6)


def input_fn(context: Input) -> tf.data.Dataset:
    """Every replica takes its part of one batch."""
    x = tf.random.stateless_normal([BATCH, 2], seed=[0, 0])
    return tf.data.Dataset.from_tensors(x[context.replica :: context.replicas])


with replicator:
    for sums in replicator.run(lambda x: all_reduce(tf.reduce_sum(normalised(x) ** 2, axis=0)), input_fn, 1):
        print("squares sum to", *(f"{each:.4f}" for each in sums.numpy()), "replicas", replicator.replicas, flush=True)
