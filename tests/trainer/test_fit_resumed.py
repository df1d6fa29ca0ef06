"""A `fit` that is killed and continued in this process: the same bits as without the interruption."""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPMethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tf_keras as keras

from qtj_trainer.errors import UserError
from tools.resume.cases import CALLBACKS, HAVE_NO_STATE, LAYERS, OPTIMIZERS, SCHEDULES, names_in
from tools.resume.experiment import Case, Fit, continues

CASES = {case.name: case for case in (*OPTIMIZERS, *SCHEDULES, *CALLBACKS, *LAYERS)}


@pytest.fixture
def visible_draws() -> Iterator[None]:
    """Random values of layers come from generators whose state can be read."""
    keras.backend.experimental.enable_tf_random_generator()
    yield
    keras.backend.experimental.disable_tf_random_generator()


def told_by_us(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the trainer has logged. On a busy machine, Keras says that a callback is slow compared to the batch."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("qtj_trainer")]


@pytest.mark.parametrize("name", ["EarlyStopping", "LossScaleOptimizer (mixed precision)", "Nadam"])
def test_it_ends_with_the_same_bits(name: str) -> None:
    assert continues(CASES[name])


@pytest.mark.usefixtures("visible_draws")
def test_dropout_does_too_if_its_state_can_be_read() -> None:
    assert continues(CASES["Dropout"])


@pytest.mark.parametrize("is_last", [False, True])
def test_the_callback_may_be_anywhere(tmp_path: Path, *, is_last: bool) -> None:
    def trained(epochs: int) -> tuple[Fit, Any]:
        plateau = keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=9)
        fit = Fit(Case("plateau"), tmp_path, epochs=4)
        callbacks = [plateau, fit.callback] if is_last else [fit.callback, plateau]
        first = fit.training.start.epochs
        fit.model.fit(np.ones((8, 3)), np.ones(8), epochs=epochs, initial_epoch=first, callbacks=callbacks, verbose=0)
        return fit, plateau

    _, before = trained(epochs=3)
    resumed, after = trained(epochs=4)

    assert resumed.training.start.epochs == 3
    assert float(resumed.model.optimizer.learning_rate.numpy()) == pytest.approx(1e-4)
    assert after.best == before.best


def test_an_epoch_after_which_a_callback_stops_has_no_checkpoint(tmp_path: Path) -> None:
    """A restart repeats it and stops again; after a checkpoint, `fit` would train one epoch more."""
    fit = Fit(CASES["EarlyStopping"], tmp_path)
    fit.run()
    again = Fit(CASES["EarlyStopping"], tmp_path)
    again.run()

    assert (fit.training.epochs_done, again.training.start.epochs, again.training.epochs_done) == (3, 2, 3)


def test_early_stopping_names_the_epoch_whose_weights_it_keeps(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = []
    for restores in (True, False):
        stopper = keras.callbacks.EarlyStopping("loss", patience=2, min_delta=9, restore_best_weights=restores)
        fit = Fit(Case("stopped", callbacks=lambda _, each=stopper: [each]), tmp_path / str(restores))  # type: ignore[misc]
        fit.run()
        kept.append((fit.training.telemetry.progress.epoch, fit.training.telemetry.progress.best_epoch))

    assert kept == [(3, 1), (3, None)]
    (told,) = told_by_us(caplog)
    assert told.startswith("EarlyStopping found epoch 1 the best and leaves the weights of the last epoch in the model")


def test_what_the_program_sets_anew_is_not_overwritten(tmp_path: Path) -> None:
    first, second = (keras.callbacks.EarlyStopping(patience=patience, min_delta=9) for patience in (2, 3))
    for each, is_killed in ((first, True), (second, False)):
        Fit(Case("edited", callbacks=lambda _, each=each: [each]), tmp_path).run(is_killed=is_killed)  # type: ignore[misc]

    assert (first.wait, second.patience, second.stopped_epoch) == (1, 3, 3)


def test_a_checkpoint_of_an_earlier_version_has_the_variables_alone(tmp_path: Path) -> None:
    fit = Fit(CASES["Nadam"], tmp_path)
    fit.run(is_killed=True)
    count = len([*fit.model.variables, *fit.model.optimizer.variables])
    old = fit.adapter.state()[:count]
    again = Fit(CASES["Nadam"], tmp_path / "b")

    again.adapter.restore(old)

    assert all(map(np.array_equal, again.adapter.state()[:count], old))


def test_what_is_hidden_is_named_once_at_the_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "qtj_trainer")
    Fit(CASES["Dropout"], tmp_path).run(is_killed=True)
    assert not told_by_us(caplog)

    layer = Fit(CASES["Dropout"], tmp_path).model.layers[0].name

    [warning] = told_by_us(caplog)
    assert warning.startswith(f"not restored, so these begin anew: the random values of {layer} (call")
    assert "the order of shuffled data" in warning


def test_data_that_run_out_are_a_warning_with_the_steps(tmp_path: Path) -> None:
    fit = Fit(Case("short"), tmp_path)
    data: Any = keras.utils.timeseries_dataset_from_array(np.ones((40, 3)), np.ones(40), 1, batch_size=8)

    fit.model.fit(data.map(lambda x, y: (x[:, 0], y)), epochs=5, steps_per_epoch=4, callbacks=[fit.callback], verbose=0)

    assert fit.training.warning.startswith(
        "training ended after 5 of 20 steps, because the data ran out: use data.repeat"
    )
    assert fit.training.epochs_done == 2
    assert Fit(Case("short"), tmp_path).training.start.epochs == 1


def test_an_epoch_without_data_is_no_epoch(tmp_path: Path) -> None:
    fit = Fit(Case("short"), tmp_path)
    data: Any = keras.utils.timeseries_dataset_from_array(np.ones((48, 3)), np.ones(48), 1, batch_size=8)

    fit.model.fit(data.map(lambda x, y: (x[:, 0], y)), epochs=5, steps_per_epoch=2, callbacks=[fit.callback], verbose=0)

    assert fit.training.warning.startswith("training ended after 6 of 10 steps, because the data ran out")
    assert fit.training.epochs_done == 3


def test_another_model_than_the_restored_one_is_refused(tmp_path: Path) -> None:
    fit = Fit(Case("other"), tmp_path)

    with pytest.raises(UserError, match="fit trains another model than program"):
        Case("other").model().fit(np.ones((8, 3)), np.ones(8), callbacks=[fit.callback], verbose=0)


@pytest.mark.parametrize(
    ("epochs", "first", "sentence"),
    [
        (5, 0, "fit(epochs=5) has more epochs than Program(epochs=3): give both the same number"),
        (3, 1, "fit starts epoch 2 after epoch 0: give it initial_epoch=0, which program.restore(model) returns"),
    ],
)
def test_a_fit_that_disagrees_with_its_program_is_refused(
    tmp_path: Path, epochs: int, first: int, sentence: str
) -> None:
    fit = Fit(Case("disagrees"), tmp_path, epochs=3)

    with pytest.raises(UserError, match=f"^{re.escape(sentence)}"):
        fit.model.fit(np.ones((8, 3)), np.ones(8), epochs=epochs, initial_epoch=first, callbacks=[fit.callback])


def test_a_callback_of_two_fits_keeps_what_the_first_has_changed(tmp_path: Path) -> None:
    fit, own = Fit(Case("two"), tmp_path, epochs=2), keras.callbacks.Callback()
    own.on_epoch_end = lambda *_: vars(own).setdefault("best", 1.0)
    for epoch in range(2):
        fit.model.fit(
            np.ones((8, 3)), np.ones(8), initial_epoch=epoch, epochs=epoch + 1, callbacks=[own, fit.callback], verbose=0
        )

    assert fit.adapter.siblings.state()["Callback-1"] == {"best": 1.0}


def test_what_a_callback_keeps_in_an_enumeration_is_not_stored(tmp_path: Path) -> None:
    fit, own = Fit(Case("own"), tmp_path, epochs=1), keras.callbacks.Callback()
    own.on_epoch_end = lambda *_: vars(own).update(mode=HTTPMethod.GET, count=1)

    fit.model.fit(np.ones((8, 3)), np.ones(8), callbacks=[own, fit.callback], verbose=0)

    assert fit.adapter.siblings.state()["Callback-1"] == {"count": 1}


def test_a_training_that_a_callback_stops_is_no_warning(tmp_path: Path) -> None:
    fit = Fit(CASES["EarlyStopping"], tmp_path)

    fit.run()

    assert fit.training.warning == ""


@pytest.mark.slow
def test_the_tables_of_the_page_are_what_trainings_do() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.resume", "--check"], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr


def test_the_table_has_everything_of_keras() -> None:
    assert names_in(keras.optimizers) <= CASES.keys()
    assert names_in(keras.optimizers.schedules) <= CASES.keys()
    assert names_in(keras.callbacks) - HAVE_NO_STATE <= CASES.keys()
