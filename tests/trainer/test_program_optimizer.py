"""A Keras program that continues with another optimizer: its checkpoints do not fit."""

from pathlib import Path

from tests.trainer.processes import Trainer
from tests.trainer.test_program import KERAS_3, epochs_in, run

STOP = "stop = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 2 and os._exit(75))"


def test_checkpoints_of_another_optimizer_are_passed_over(trainer: Trainer, tmp_path: Path) -> None:
    stops = KERAS_3.replace("first =", f"import os\n{STOP}\nfirst =").replace("callbacks=[", "callbacks=[stop, ")
    stopped = run(trainer, tmp_path, stops.replace('"adam"', '"sgd"'))
    other = run(trainer, tmp_path, KERAS_3)

    assert stopped.code == 75, stopped.errors
    assert (other.code, epochs_in(other.output)) == (0, [1, 2, 3]), other.errors
    assert "is of another training: its model, optimizer, data or options differ" in other.errors
