"""A training whose number of workers changes ends with the weights of one that nobody disturbs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import pytest

from tests.trainer.loops import LOOP
from tests.trainer.processes import Ended, Process, Trainer

SIZES = (2, 4, 1, 3)
WHOLE = ("--qubits", "4", "--rounds", "4")
"""Steps so short that each worker takes whole ones, and follows its leader."""
SHARED = ("--qubits=10", "--filters=8", "--rounds=2")
"""Longer ones, of which each worker takes a part."""
SETTINGS = ("--schedule=cosine", "--patience=100", "--clip-norm=1")
"""What else a restart has to continue: the step of a schedule, and the best epoch."""
KERAS = """
from qtj_trainer import Program

program = Program(epochs=12)

import tensorflow as tf

tf.keras.utils.set_random_seed(0)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal([240, 3], seed=[0, 0])
y = tf.linalg.matvec(x, [1.0, -2.0, 0.5]) + 0.1 * tf.random.stateless_normal([240], seed=[0, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.Adam(0.1), loss="mse")
    first = program.restore(model)


class Shown(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}/12  ", flush=True)


data, callbacks = data.with_options(options), [program.callback(), Shown()]
model.fit(data, epochs=12, initial_epoch=first, callbacks=callbacks, verbose=0)
program.finish(model)
"""

Start = Callable[[int, str], list[Process]]


def undisturbed_and_changed(start: Start, epochs: int, sizes: Sequence[int] = SIZES) -> tuple[Ended, Ended]:
    """Trains with one worker, and with one number after the other: each gang is killed, and the last one ends."""
    (alone,) = (each.end() for each in start(1, "alone"))
    assert alone.code == 0, alone.errors
    for size in sizes[:-1]:
        processes = start(size, "changed")
        processes[0].wait_for(f"/{epochs}  ")
        for each in processes:
            each.kill()
        assert f"{epochs}/{epochs}" not in processes[0].output(), "it was to be killed in the middle"
    leader, *others = [each.end() for each in start(sizes[-1], "changed")]
    assert [each.code for each in (leader, *others)] == [0] * sizes[-1], leader.errors
    return alone, leader


def values(ended: Ended) -> Mapping[str, np.ndarray[Any, Any]]:
    """The stored arrays, by name."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    with h5py.File(ended.weights.uri.removeprefix("file://")) as file:
        file.visititems(lambda name, each: found.update({name: each[()]}) if isinstance(each, h5py.Dataset) else None)
    return found


def relative_difference(one: Ended, other: Ended) -> float:
    """The largest difference of two values, relative to the largest of all values."""
    ours, theirs = values(one), values(other)
    assert ours.keys() == theirs.keys()
    largest = max(float(np.abs(each).max()) for each in ours.values())
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in ours) / largest


def qcnn(trainer: Trainer, folder: Path, *line: str) -> Start:
    def start(size: int, name: str) -> list[Process]:
        place = {"QTJ_ARTIFACTS_URI": str(folder / name), "QTJ_JOB_UID": "uid-1"}
        return trainer.start_cluster(size, "train", "qcnn", *line, **place)

    return start


def program(trainer: Trainer, folder: Path, source: str) -> Start:
    path = folder / "program.py"
    path.write_text(source)

    def start(size: int, name: str) -> list[Process]:
        place = {"QTJ_ARTIFACTS_URI": str(folder / name), "QTJ_JOB_UID": "uid-1"}
        return trainer.start_programs(size, path, **place)

    return start


def test_an_own_loop_has_the_same_digits(programs: Trainer, tmp_path: Path) -> None:
    slow = LOOP.replace("HERE", "import time; time.sleep(0.02)").replace("Epoch {epoch.number}", "{epoch.number}/6  ")

    alone, changed = undisturbed_and_changed(program(programs, tmp_path, slow), 6)

    assert changed.weights.sha256 == alone.weights.sha256


@pytest.mark.slow
def test_whole_steps_have_the_same_digits(trainer: Trainer, tmp_path: Path) -> None:
    line = (*WHOLE, "--batch-size", "16", "--epochs", "120")

    alone, changed = undisturbed_and_changed(qcnn(trainer, tmp_path, *line), 120)

    assert changed.weights.sha256 == alone.weights.sha256


@pytest.mark.slow
def test_whole_steps_do_too_with_an_odd_batch_a_schedule_and_early_stopping(trainer: Trainer, tmp_path: Path) -> None:
    line = (*WHOLE, *SETTINGS, "--batch-size", "10", "--epochs", "120")

    alone, changed = undisturbed_and_changed(qcnn(trainer, tmp_path, *line), 120)

    assert changed.weights.sha256 == alone.weights.sha256


@pytest.mark.slow
@pytest.mark.parametrize("batch", [16, 10])
def test_shared_steps_differ_by_rounding_alone(trainer: Trainer, tmp_path: Path, batch: int) -> None:
    line = (*SHARED, *SETTINGS, f"--batch-size={batch}", "--epochs=12")

    alone, changed = undisturbed_and_changed(qcnn(trainer, tmp_path, *line), 12)

    assert relative_difference(alone, changed) < 1e-6


@pytest.mark.slow
def test_a_keras_program_whose_batch_divides_by_each_number_of_workers_does_too(
    trainer: Trainer, tmp_path: Path
) -> None:
    alone, changed = undisturbed_and_changed(program(trainer, tmp_path, KERAS.replace("batch(16)", "batch(12)")), 12)

    assert relative_difference(alone, changed) < 1e-6


@pytest.mark.slow
def test_a_keras_program_whose_batch_divides_differs_by_rounding_alone(trainer: Trainer, tmp_path: Path) -> None:
    """Where it does not divide, Keras averages the means of unequal shares."""
    alone, changed = undisturbed_and_changed(program(trainer, tmp_path, KERAS), 12, (4, 1, 2))

    assert relative_difference(alone, changed) < 1e-6
