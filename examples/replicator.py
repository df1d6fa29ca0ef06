"""All replicas learn a line together. The program is the same for one device, two (QTJ_DEVICES=2), and two workers."""

from qtj_trainer.replicate import Input, Replicator, all_gather, broadcast

replicator = Replicator()

import tensorflow as tf
import tf_keras

BATCH, STEPS = 32, 100

with replicator, replicator.scope():
    slope, constant = tf.Variable(0.0), tf.Variable(0.0)
    optimizer = replicator.wrap_optimizer(tf_keras.optimizers.SGD(0.1))
    optimizer.build([slope, constant])

    def input_fn(context: Input) -> tf.data.Dataset:
        """Every replica draws the same batches, and takes its own part of each."""

        def share(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            x = tf.random.stateless_normal([BATCH], seed=[0, step])[context.replica :: context.replicas]
            return x, 3 * x + 1

        return tf.data.Dataset.range(STEPS).map(share)

    def step_fn(batch: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """One step of gradient descent; replicas differ in their examples alone."""
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((slope * x + constant - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [slope, constant]), [slope, constant], strict=True))
        losses = all_gather(loss[tf.newaxis])
        return tf.reduce_mean(losses), broadcast(slope)

    for step, (loss, learned) in enumerate(replicator.run(step_fn, input_fn, STEPS), start=1):
        if step % 20 == 0:
            print(f"step {step:3}  loss {loss:.6f}  slope {learned:.4f}  replicas {replicator.replicas}", flush=True)
