"""Fine-tuning in two phases, each with its own `compile` and `fit`: a restart continues the phase that was killed."""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tf_keras as keras

from tools.resume.experiment import Case, Fit, KilledError

PHASE = 2
"""Epochs of the first phase."""


class Kill(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.last = epoch

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        if epoch == self.last:
            raise KilledError


class Halves(keras.callbacks.Callback):  # type: ignore[misc]
    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate / 2)


class Frozen(Case):
    def model(self) -> Any:
        layers = [keras.layers.Dense(4, name="base"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input(self.shape), *layers])
        model.layers[0].trainable = False
        model.compile(keras.optimizers.Adam(0.1), loss="mse")
        return model


def trained(folder: Path, *, killed_at: int = -1, skips: bool = True, phase_2: str = "Adam") -> Fit:
    """Trains what is left of five epochs, in two phases.

    Args:
        folder: Artifacts of the job.
        killed_at: The epoch before which the program is killed.
        skips: Whether the program leaves out a `fit` that is done, or lets it train nothing.
        phase_2: Class of the second optimizer.
    """
    case = Frozen("two phases")
    fit = Fit(case, folder)
    first = fit.training.start.epochs

    def others() -> list[Any]:
        return [fit.callback, Halves(), keras.callbacks.EarlyStopping("loss", patience=3, min_delta=9)]

    with suppress(KilledError):
        if first < PHASE or not skips:
            fit.model.fit(case.data(), epochs=PHASE, initial_epoch=first, callbacks=others(), verbose=0)
        fit.model.layers[0].trainable = True
        fit.model.compile(getattr(keras.optimizers, phase_2)(0.01), loss="mse")
        callbacks = [*others(), Kill(killed_at)]
        fit.model.fit(case.data(), epochs=5, initial_epoch=max(first, PHASE), callbacks=callbacks, verbose=0)
    return fit


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """The training without an interruption."""
    return trained(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("killed_at", [PHASE, 4])
def test_the_second_phase_ends_with_the_same_bits(whole: Fit, tmp_path: Path, *, killed_at: int, skips: bool) -> None:
    trained(tmp_path, killed_at=killed_at)

    resumed = trained(tmp_path, skips=skips)

    assert resumed.training.start.epochs == killed_at
    assert resumed.model.optimizer.learning_rate.numpy() == whole.model.optimizer.learning_rate.numpy()
    assert all(map(np.array_equal, resumed.model.get_weights(), whole.model.get_weights()))
    assert resumed.training.epochs_done == whole.training.epochs_done == 5


def test_what_never_fits_is_named_when_fit_begins(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trained(tmp_path, killed_at=4)
    caplog.set_level(logging.WARNING, "qtj_trainer")

    trained(tmp_path, phase_2="SGD")

    [_, named] = caplog.messages
    assert named.startswith("not restored, so these begin anew: the variable ")
