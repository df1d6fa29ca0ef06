"""`qtj_trainer.load`: what a run has trained, for new data."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tf_keras

from qtj_trainer import load
from qtj_trainer.errors import UserError
from tests.trainer.processes import Trainer

LOOP = """
import numpy as np
from qtj_trainer import Program

program = Program(epochs=1)
state = program.state(layers=[np.zeros(2), np.ones(3)])
for epoch in program.epochs():
    epoch.report(loss=0.5)
program.finish(state.layers)
"""
KERAS = """
from qtj_trainer import Program

program = Program(epochs=1)
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
program.finish(model)
"""


def run(trainer: Trainer, folder: Path, source: str) -> str:
    (folder / "program.py").write_text(source)
    ended = trainer.start_program(folder / "program.py", QTJ_ARTIFACTS_URI=str(folder / "run")).end()
    assert ended.code == 0, ended.errors
    return str(folder / "run")


def dense(units: int = 1) -> tf_keras.Model:
    return tf_keras.Sequential([tf_keras.layers.Dense(units, input_shape=(2,), kernel_initializer="zeros")])


def test_a_model_of_the_trainer_is_built_and_predicts(trainer: Trainer, tmp_path: Path) -> None:
    options = ["--epochs", "1", "--qubits", "4", "--rounds", "4", "--artifacts", str(tmp_path / "run")]
    ended = trainer.run("train", "qcnn", *options)
    assert ended.code == 0, ended.errors

    model = load(str(tmp_path / "run"))

    assert model(np.zeros((3, 4), np.float32)).shape == (3,)
    assert any(np.ptp(weight) for weight in model.get_weights())


def test_a_model_of_ones_own_gets_its_weights(trainer: Trainer, tmp_path: Path) -> None:
    place = run(trainer, tmp_path, KERAS)

    model = load(place, dense())

    assert model(np.ones((1, 2), np.float32)).numpy() == pytest.approx(2)
    with pytest.raises(UserError, match="are of a Keras model of your own: create it as your program does"):
        load(place)
    with pytest.raises(UserError, match="do not fit"):
        load(place, dense(units=2))


@pytest.fixture(scope="module")
def place(programs: Trainer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a loop has stored."""
    return run(programs, tmp_path_factory.mktemp("loop"), LOOP)


def test_arrays_come_by_name_or_in_a_tree_like_theirs(place: str) -> None:
    by_name, tree = load(place), load(place, [np.zeros(2), np.zeros(3)])

    assert [array.tolist() for array in by_name.values()] == [[0, 0], [1, 1, 1]]
    assert [array.tolist() for array in tree] == [[0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: (run / "result.json").unlink(), "result.json does not exist"),
        (lambda run: next(run.glob("weights/*.npz")).write_bytes(b"x"), "was stored: it was changed since then"),
    ],
)
def test_what_is_missing_or_was_changed_is_named(
    place: str, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    run = shutil.copytree(place, tmp_path / "run")
    damage(run)

    with pytest.raises(UserError, match=words):
        load(str(run))
