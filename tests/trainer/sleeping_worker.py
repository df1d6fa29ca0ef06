"""A program of a gang whose worker 1 sleeps in each step."""

__all__ = ["sleeping_program"]

_PROGRAM = """
import json, os, time
from qtj_trainer import Program

program = Program(epochs=EPOCHS)

import tensorflow as tf

index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal([64, 3], seed=[0, 0])
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.Adam(0.1), loss="mse")
    first = program.restore(model)


class Sleeps(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(SECONDS if index == 1 else 0.0)


callbacks = [Sleeps(), program.callback()]
model.fit(data.with_options(options), epochs=EPOCHS, initial_epoch=first, callbacks=callbacks, verbose=0)
"""


def sleeping_program(epochs: int, seconds: float) -> str:
    """Returns the program, with so many epochs and seconds of sleep."""
    return _PROGRAM.replace("EPOCHS", str(epochs)).replace("SECONDS", str(seconds))
