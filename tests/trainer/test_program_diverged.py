"""A user's Keras program whose training diverges, or whose metrics are no results."""

from pathlib import Path

import numpy as np

from qtj_trainer.stored.artifacts import arrays_from_bytes
from tests.trainer.processes import Trainer
from tests.trainer.test_program import KERAS_3, run

KERAS_2 = """
from qtj_trainer import Program

program = Program(epochs=3)

import tensorflow as tf
import tf_keras as keras

strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal((64, 3), seed=(0, 0))
y = tf.reduce_sum(x, axis=1)
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e18), loss="mse")
first = program.restore(model)
model.fit(x, y, epochs=3, initial_epoch=first, callbacks=[program.callback()], verbose=2)
program.finish(model)
"""


def stored(folder: Path, pattern: str) -> list[Path]:
    return sorted((folder / "artifacts").rglob(pattern))


def test_a_program_that_diverges_fails_at_the_step_and_keeps_its_checkpoints(trainer: Trainer, tmp_path: Path) -> None:
    spoils = "keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 2 and spoil())"
    spoil = "spoil = lambda: model.optimizer.learning_rate.assign(1e30)"
    source = KERAS_3.replace("callbacks=[", f"callbacks=[{spoils}, ").replace("first =", f"{spoil}\nfirst =")

    ended = run(trainer, tmp_path, source)

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith("training diverged, the loss was inf at step 6: lower the optimizer's learning rate")
    kept = [arrays_from_bytes(path.read_bytes()) for path in stored(tmp_path, "*.npz")]
    assert len(kept) == 2
    numbers = [[each for each in part.values() if each.dtype.kind == "f"] for part in kept]
    assert all(len(part) > 2 and all(np.isfinite(each).all() for each in part) for part in numbers)
    assert not stored(tmp_path, "*.h5")


def test_two_workers_of_a_program_fail_for_the_same_reason(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERAS_2)

    workers = [each.end() for each in trainer.start_programs(2, program, QTJ_ARTIFACTS_URI=str(tmp_path / "artifacts"))]

    assert 1 in {worker.code for worker in workers} <= {1, 75}, "one that is final decides for all"
    assert [bool(worker.error) for worker in workers] == [True, True]
    assert not stored(tmp_path, "*.h5")


def test_weights_that_are_not_finite_are_not_stored(trainer: Trainer, tmp_path: Path) -> None:
    spoilt = "model.layers[-1].bias.assign([float('nan')])\nprogram.finish"

    ended = run(trainer, tmp_path, KERAS_3.replace("program.finish", spoilt))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert "training diverged, a weight of " in ended.error
    assert "bias was nan after step 6" in ended.error
    assert not stored(tmp_path, "*.h5")
    assert len(stored(tmp_path, "*.npz")) == 2


def test_finish_stores_the_weights_before_it_checks_the_metrics(trainer: Trainer, tmp_path: Path) -> None:
    metrics = '{"worst": float("nan"), "best": float("inf"), "mse":'
    ended = run(trainer, tmp_path, KERAS_3.replace('finish(model, {"mse":', f"finish(model, {metrics}"))
    [weights] = stored(tmp_path, "*.h5")
    mended = run(trainer, tmp_path, KERAS_3)

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert "the metric worst is nan and best is inf, which is not a result" in ended.error
    assert mended.code == 0, mended.errors
    assert "Epoch" not in mended.output, "it trains after its last epoch"
    assert mended.weights.uri == weights.as_uri()


def test_a_metric_that_is_not_finite_is_warned_of_once_when_it_is_first_seen(trainer: Trainer, tmp_path: Path) -> None:
    compiled = 'model.compile("adam", loss="mse"'
    lost = f'def nothing(y, p): return keras.ops.mean(y) * float("nan")\n{compiled}, metrics=[nothing]'

    ended = run(trainer, tmp_path, KERAS_3.replace(compiled, lost))

    assert "Epoch 3/3" in ended.output, ended.errors
    warnings = [line for line in ended.errors.splitlines() if "was nan" in line]
    assert len(warnings) == 1
    assert "after epoch 1, the metric nothing was nan: training goes on, but program.finish" in warnings[0]
