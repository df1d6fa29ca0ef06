"""Your own Keras program. Without the numbered lines it also trains: it then needs only TF_CONFIG."""

import argparse

from qtj_trainer import Program  # 1  before TensorFlow, which starts threads

EPOCHS = 5
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS)  # 2  SIGTERM, progress; exits at once if the job already has its result

import tensorflow as tf

tf.keras.utils.set_random_seed(seed)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal([256, 3], seed=[0, seed])
y = tf.linalg.matvec(x, [1.0, -2.0, 0.5])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.SGD(0.1), loss="mse")
    if program.inferring:  # the Job of spec.inference: evaluate exactly the stored weights
        program.load(model)
        program.report({"mse": model.evaluate(data, verbose=0)})
    first = program.restore(model)  # 3  the number of finished epochs

model.fit(data, epochs=EPOCHS, initial_epoch=first, callbacks=[program.callback()], verbose=2)  # 4
program.finish(model, {"mse": model.evaluate(data, verbose=0)})  # 5  weights, result, the end
