"""Every number of an epoch is recorded, by the name that the program or Keras gives it, and no number twice."""

import json
from pathlib import Path

import pytest

from tests.trainer.processes import Trainer

LOOP = """
import numpy as np
from qtj_trainer import Program

program = Program(epochs=2)
state = program.state(weights=np.zeros(2))
for epoch in program.epochs():
    epoch.report(loss=0.5, accuracy=0.25, fidelity=0.75, val_auc=0.125)
program.finish(state.weights)
"""
KERAS = """
from qtj_trainer import Program

program = Program(epochs=2)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
model.compile("sgd", "mse", metrics=["mae"])
x, y = tf.ones([8, 2]), tf.ones([8, 1])
first = program.restore(model)
model.fit(x, y, validation_data=(x, y), epochs=2, initial_epoch=first, callbacks=[program.callback()], verbose=0)
program.finish(model)
"""


@pytest.mark.parametrize(
    ("source", "names", "fields", "first"),
    [
        (LOOP, {"fidelity", "val_auc"}, {"loss", "trainingAccuracy"}, "accuracy"),
        (KERAS, {"mae", "val_mae"}, {"loss", "validationLoss"}, "mae"),
    ],
)
def test_scores_are_in_the_progress_log(
    trainer: Trainer, tmp_path: Path, source: str, names: set[str], fields: set[str], first: str
) -> None:
    program, log = tmp_path / "program.py", tmp_path / "progress.jsonl"
    program.write_text(source)

    ended = trainer.start_program(program, QTJ_ARTIFACTS_URI=str(tmp_path / "a"), QTJ_PROGRESS_LOG=str(log)).end()

    assert ended.code == 0, ended.errors
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(set(each["scores"]), fields <= set(each)) for each in told] == [(names, True)] * 2
    assert [each["metric"] for each in told] == [first] * 2
