"""A `fit` that is interrupted within an epoch, and continued there: the same bits as without the interruption."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras
from tf_keras.src.engine import data_adapter

from qtj_trainer.errors import StoppedError, UserError
from qtj_trainer.program.keras_place import obstacle
from tools.resume.experiment import Case, Fit, KilledError

EPOCHS, BATCHES = 3, 5
X = np.random.default_rng(0).normal(size=(18, 3)).astype(np.float32)
Y = (X @ [1.0, -2.0, 0.5]).astype(np.float32)

Data = Callable[[], dict[str, Any]]


class Measured(Case):
    """A model whose layers draw, with a metric, and an optimizer with a state."""

    def model(self) -> Any:
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.05), loss="mse", metrics=["mae"])
        return model


def arrays() -> dict[str, Any]:
    return {"x": X, "y": Y, "batch_size": 4, "shuffle": False}


def shuffled(first: int = 0) -> dict[str, Any]:
    data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(18, seed=5).batch(4).prefetch(1)
    for _ in range(first):
        iter(data)
    return {"x": data}


@pytest.fixture(autouse=True)
def _visible_draws() -> Iterator[None]:
    keras.backend.experimental.enable_tf_random_generator()
    yield
    keras.backend.experimental.disable_tf_random_generator()


class _At(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Does something before a step of the whole training, counted from 0."""

    def __init__(self, step: int, does: Callable[[], None]) -> None:
        super().__init__()
        self._step, self._does = step, does

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        if int(self.model.optimizer.iterations.numpy()) == self._step:
            self._does()


def trained(fit: Fit, data: dict[str, Any], *others: Any) -> dict[str, list[float]]:
    """Trains the epochs that are left; returns the numbers of each by name."""
    stopper = keras.callbacks.EarlyStopping("loss", patience=9)
    done = fit.model.fit(
        **data,
        epochs=EPOCHS,
        initial_epoch=fit.training.start.epochs,
        validation_data=(X[:5], Y[:5]),
        callbacks=[fit.callback, stopper, *others],
        verbose=0,
    )
    numbers: dict[str, list[float]] = done.history
    return numbers


def program(folder: Path, checkpoint_steps: int = 1) -> Fit:
    return Fit(Measured("measured"), folder, epochs=EPOCHS, checkpoint_steps=checkpoint_steps)


def kill() -> None:
    raise KilledError


@pytest.mark.parametrize(("killed_before", "shuffles"), [(3, False), (13, True)])
def test_it_ends_with_the_same_bits_and_the_same_numbers(tmp_path: Path, killed_before: int, *, shuffles: bool) -> None:
    whole = program(tmp_path / "whole")
    expected = trained(whole, shuffled() if shuffles else arrays())
    with pytest.raises(KilledError):
        trained(program(tmp_path / "parts"), shuffled() if shuffles else arrays(), _At(killed_before, kill))
    resumed = program(tmp_path / "parts")
    start = resumed.training.start
    numbers = trained(resumed, shuffled(start.epochs) if shuffles else arrays())

    assert (start.step, start.epochs) == (killed_before, killed_before // BATCHES)
    assert {name: values[-len(numbers["loss"]) :] for name, values in expected.items()} == numbers
    assert all(map(np.array_equal, whole.adapter.state(), resumed.adapter.state()))
    assert resumed.training.telemetry.progress.step == EPOCHS * BATCHES
    assert resumed.training.telemetry.progress.steps == EPOCHS * BATCHES


def test_sigterm_ends_it_after_the_step_with_a_checkpoint(tmp_path: Path) -> None:
    fit = program(tmp_path, checkpoint_steps=0)
    with pytest.raises(StoppedError, match="after step 8"):
        trained(fit, arrays(), _At(7, fit.training.replica.stop.request))

    assert program(tmp_path, checkpoint_steps=0).training.start.step == 8


def test_sigterm_in_the_last_step_of_an_epoch_ends_it_with_the_epoch(tmp_path: Path) -> None:
    fit = program(tmp_path, checkpoint_steps=0)
    with pytest.raises(StoppedError, match="after step 10"):
        trained(fit, arrays(), _At(9, fit.training.replica.stop.request))

    start = program(tmp_path, checkpoint_steps=0).training.start
    assert (start.step, start.epochs, start.ends_epoch) == (10, 2, True)


def _generator() -> Iterator[Any]:
    while True:
        yield X[:4], Y[:4]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (arrays(), ""),
        ({"x": X, "y": Y, "shuffle": True}, "give it shuffle=False"),
        ({"x": shuffled()["x"]}, ""),
        ({"x": tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(18).batch(4)}, "shuffle without a seed"),
        ({"x": tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).map(lambda x, y: (x, y), 2, False)}, "determin"),
        ({"x": _generator(), "steps_per_epoch": 5}, "no arrays and no tf.data"),
    ],
)
def test_which_data_can_be_continued_there(tmp_path: Path, data: dict[str, Any], why: str) -> None:
    model = program(tmp_path).model

    found = obstacle(model, data_adapter.get_data_handler(**data, model=model))

    assert why in found if why else not found


def test_what_cannot_be_continued_there_says_so_and_has_the_checkpoints_of_epochs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "qtj_trainer"), pytest.raises(KilledError):
        trained(program(tmp_path), {**arrays(), "shuffle": True}, _At(8, kill))

    [warning] = caplog.messages
    assert warning.startswith("checkpoints are stored at the end of epochs alone: fit shuffles arrays")
    assert program(tmp_path).training.start.step == BATCHES


def test_data_that_were_changed_meanwhile_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        trained(program(tmp_path), arrays(), _At(7, kill))

    with pytest.raises(UserError, match=r"within epoch 2, and fit cannot continue there .*shuffle=False"):
        trained(program(tmp_path), {**arrays(), "shuffle": True})


def test_keras_3_has_no_such_place(tmp_path: Path) -> None:
    assert obstacle(program(tmp_path).model, None) == "only fit of Keras 2 can begin an epoch at a later batch"
