"""Trains a Keras model, once without interruption, and once from a checkpoint after an interruption, in one process."""

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # before TensorFlow

import numpy as np
import tensorflow as tf
import tf_keras as keras

from qtj_trainer.program.keras_callback import training_callback
from qtj_trainer.program.keras_model import KerasModel
from qtj_trainer.program.program_training import ProgramTraining
from qtj_trainer.stored.checkpoints import State
from qtj_trainer.workloads.options import Options
from tools.resume.session import InProcess

EPOCHS = 5
_KILLED_AFTER = 2
_EXAMPLES = 20
_BATCH = 8


def _nothing(_: Path) -> list[Any]:
    return []


@dataclass(frozen=True)
class Case:
    """A training with one thing whose state a restart has to continue.

    Attributes:
        name: What it is, as the table names it.
        layers: Creates the layers before the last one.
        optimizer: Creates the optimizer.
        callbacks: Creates the other callbacks, which may write into a folder.
        shape: The shape of an example.
        batch: The size of every batch, if a layer has to know it.
    """

    name: str
    layers: Callable[[], list[Any]] = list
    optimizer: Callable[[], Any] = lambda: keras.optimizers.SGD(0.1)
    callbacks: Callable[[Path], list[Any]] = _nothing
    shape: tuple[int, ...] = (3,)
    batch: int | None = None

    def model(self) -> Any:
        """Creates and compiles the model."""
        last = [keras.layers.Flatten(), keras.layers.Dense(1)]
        if self.name in {"RandomHeight", "RandomWidth"}:  # whose results have no fixed shape
            last[0] = keras.layers.GlobalAveragePooling2D()
        model = keras.Sequential([keras.Input(self.shape, batch_size=self.batch), *self.layers(), *last])
        model.compile(self.optimizer(), loss="mse")
        return model

    def data(self, count: int = _EXAMPLES) -> Any:
        """Creates examples, in batches."""
        x = tf.random.stateless_normal([count, *self.shape], seed=[0, count])
        y = tf.reduce_sum(tf.reshape(x, [count, -1])[:, :3] * [1.0, -2.0, 0.5], axis=1)
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(self.batch or _BATCH)


class KilledError(Exception):
    """Ends `fit` as a signal would, and leaves the process."""


class _Kill(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        del logs
        if epoch == _KILLED_AFTER:
            raise KilledError


@dataclass
class Fit:
    """A program of one attempt, with the artifacts in a folder.

    Attributes:
        case: What it trains.
        folder: The artifacts of its job.
        environment: Its environment.
        epochs: Epochs of the training.
        checkpoint_steps: Steps from one checkpoint within an epoch to the next.
    """

    case: Case
    folder: Path
    environment: dict[str, str] = field(default_factory=lambda: {"QTJ_JOB_UID": "uid-1"})
    epochs: int = EPOCHS
    checkpoint_steps: int = 0

    def __post_init__(self) -> None:
        keras.utils.set_random_seed(0)
        self.model = self.case.model()
        self.adapter = KerasModel(self.model)
        session = InProcess(self.folder, self.environment)
        self.adapter.prepare(session.replica.cluster)
        options = Options(epochs=self.epochs, checkpoint_steps=self.checkpoint_steps)
        self.training = ProgramTraining(session, self.adapter, options)
        atexit.unregister(self.training.warn_if_unfinished)
        self.callback = training_callback(self.training, self.adapter)

    def run(self, *, is_killed: bool = False) -> State:
        """Trains the epochs that are left, or until the kill. Returns the state at the end."""
        others = self.case.callbacks(self.folder)
        callbacks = [self.callback, *others, *([_Kill()] if is_killed else [])]
        with suppress(KilledError):
            self.model.fit(
                self.case.data(),
                epochs=self.epochs,
                initial_epoch=self.training.start.epochs,
                validation_data=self.case.data(count=5),
                callbacks=callbacks,
                verbose=0,
            )
        self.adapter.read_together()
        return self.adapter.state()


def continues(case: Case) -> bool:
    """Returns whether a training that is killed and continued ends with the same bits as one that is not."""
    with TemporaryDirectory() as whole, TemporaryDirectory() as parts:
        expected = Fit(case, Path(whole)).run()
        Fit(case, Path(parts)).run(is_killed=True)
        resumed = Fit(case, Path(parts)).run()
    return len(expected) == len(resumed) and all(map(np.array_equal, expected, resumed))
