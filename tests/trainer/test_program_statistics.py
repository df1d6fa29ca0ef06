"""Moving statistics of a Keras program on several replicas, each of which has its own."""

import subprocess
import sys
from pathlib import Path

import h5py  # type: ignore[import-untyped]
import numpy as np
import pytest

from tests.trainer.processes import Ended, Trainer

PROGRAM = """
import os, sys

from qtj_trainer import Program

program = Program(epochs=4)

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal([64, 3], seed=[0, 0])
y = tf.linalg.matvec(x, [1.0, -2.0, 0.5])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
with strategy.scope():
    tf.keras.utils.set_random_seed(0)
    tf.keras.backend.experimental.enable_tf_random_generator()
    first, last = tf.keras.layers.Dense(4, input_shape=(3,)), tf.keras.layers.Dense(1)
    model = tf.keras.Sequential([first, tf.keras.layers.BatchNormalization(), tf.keras.layers.Dropout(0.5), last])
    model.compile(tf.keras.optimizers.SGD(0.1), loss="mse")
    first = program.restore(model)

class Kill(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if "killed" in sys.argv and epoch == 2:
            os.kill(os.getpid(), 9)

callbacks = [program.callback(), tf.keras.callbacks.ReduceLROnPlateau(patience=1, min_delta=9), Kill()]
model.fit(data, epochs=4, initial_epoch=first, callbacks=callbacks, validation_data=data, verbose=2)
local = strategy.experimental_local_results(model.layers[1].moving_mean)[0]
print("moving mean", local.numpy().tolist(), flush=True)
program.finish(model, {"mse": model.evaluate(data, verbose=0)})
"""


def run(trainer: Trainer, folder: Path, *arguments: str) -> list[Ended]:
    folder.mkdir(exist_ok=True)
    program = folder / "program.py"
    program.write_text(PROGRAM)
    environment = {"QTJ_ARTIFACTS_URI": str(folder / "artifacts"), "QTJ_JOB_UID": "uid-1"}
    return [process.end() for process in trainer.start_programs(2, program, *arguments, **environment)]


def moving_mean(ended: Ended) -> list[float]:
    [line] = [line for line in ended.output.splitlines() if line.startswith("moving mean")]
    return [float(each) for each in line.partition("[")[2].rstrip("]").split(",")]


@pytest.mark.slow
def test_two_workers_store_the_mean_of_their_statistics(trainer: Trainer, tmp_path: Path) -> None:
    leader, follower = run(trainer, tmp_path)

    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    each = [moving_mean(leader), moving_mean(follower)]
    with h5py.File(leader.weights.uri.removeprefix("file://")) as file:
        stored = np.array(file["batch_normalization/batch_normalization/moving_mean:0"])
    assert each[0] != each[1]
    assert stored == pytest.approx(np.mean(each, axis=0), rel=1e-6)


@pytest.mark.slow
def test_two_workers_that_were_killed_end_with_the_same_bits(trainer: Trainer, tmp_path: Path) -> None:
    whole = run(trainer, tmp_path / "whole")
    killed = run(trainer, tmp_path / "parts", "killed")
    resumed = run(trainer, tmp_path / "parts")

    assert {each.code for each in killed} == {-9}
    assert [each.code for each in resumed] == [0, 0], resumed[0].errors
    assert [moving_mean(each) for each in resumed] == [moving_mean(each) for each in whole]
    assert resumed[0].weights.sha256 == whole[0].weights.sha256


TWO_DEVICES = """
import sys
from pathlib import Path
import tensorflow as tf

(processor,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
from tools.resume.experiment import Case, continues
import tf_keras as keras

keras.backend.experimental.enable_tf_random_generator()
layers = lambda: [keras.layers.BatchNormalization(), keras.layers.Dropout(0.5)]
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    assert continues(Case("two devices", layers=layers, optimizer=lambda: keras.optimizers.Adam(0.01)))
"""


@pytest.mark.slow
def test_two_devices_that_were_killed_end_with_the_same_bits() -> None:
    ended = subprocess.run([sys.executable, "-c", TWO_DEVICES], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
