"""A Keras program that continues with another optimizer: its checkpoints do not fit."""

from pathlib import Path

import pytest

from tests.trainer.processes import Trainer
from tests.trainer.test_program import KERAS_3, epochs_in, run

KERAS_2 = (
    KERAS_3.replace("import keras\n", "import tf_keras as keras, tensorflow as tf\n")
    .replace("keras.random.normal((64, 3), seed=0)", "tf.random.stateless_normal((64, 3), seed=(0, 0))")
    .replace("keras.ops.matmul", "tf.matmul")
    .replace("keras.ops.convert_to_tensor", "tf.constant")
)
STOP = "stop = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 2 and os._exit(75))"


@pytest.mark.parametrize("source", [KERAS_2, KERAS_3], ids=["keras 2", "keras 3"])
def test_checkpoints_of_another_optimizer_are_passed_over(trainer: Trainer, tmp_path: Path, source: str) -> None:
    stops = source.replace("first =", f"import os\n{STOP}\nfirst =").replace("callbacks=[", "callbacks=[stop, ")
    stopped = run(trainer, tmp_path, stops.replace('"adam"', '"sgd"'))
    other = run(trainer, tmp_path, source)

    assert stopped.code == 75, stopped.errors
    assert (other.code, epochs_in(other.output)) == (0, [1, 2, 3]), other.errors
    assert "is of another training: its model, optimizer, data or options differ" in other.errors
