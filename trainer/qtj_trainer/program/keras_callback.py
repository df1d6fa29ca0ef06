"""The Keras callback of a program. It is in a separate file, because importing Keras takes seconds.

It puts itself at the end of the list that `fit` calls. So it comes after EarlyStopping and ReduceLROnPlateau, wherever
the program has it: they begin anew in `on_train_begin`, and get their stored state after that; they decide in
`on_epoch_end`, and the checkpoint that is stored after that has their decision.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import tf_keras

from qtj_trainer.errors import UserError
from qtj_trainer.program.keras_place import EpochPlace
from qtj_trainer.program.keras_siblings import calling_list
from qtj_trainer.stored.position import Epoch
from qtj_trainer.weights import is_of_keras_2

if TYPE_CHECKING:
    from qtj_trainer.program.keras_model import KerasModel
    from qtj_trainer.program.program_training import ProgramTraining

__all__ = ["training_callback"]

_LAST_WEIGHTS = (
    "EarlyStopping found epoch %(best)d the best and leaves the weights of the last epoch in the model: with "
    "restore_best_weights=True it puts those of epoch %(best)d back"
)

_NOT_FINITE = (
    "after epoch %d, the metric %s was %s: training goes on, but program.finish and program.report refuse such a number"
)

log = logging.getLogger("qtj_trainer")


def training_callback(training: "ProgramTraining", adapter: "KerasModel") -> Any:
    """Returns a callback that reports the steps and epochs of `fit` to a training."""
    if is_of_keras_2(adapter.model):
        base = tf_keras.callbacks.Callback
    else:
        import keras  # type: ignore[import-untyped]

        base = keras.callbacks.Callback
    return type("ProgramCallback", (_Reporter, base), {})(training, adapter)


class _Reporter:
    """The part of the callback that is the same for Keras 2 and Keras 3."""

    params: Mapping[str, Any]
    """Set by Keras before training starts."""
    model: Any

    def __init__(self, training: "ProgramTraining", adapter: "KerasModel") -> None:
        super().__init__()
        self._training = training
        self._adapter = adapter
        self._step = max(training.start.step, training.last.step if training.last else 0)
        self._batches = 0
        self._others: list[Any] = []
        self._place: EpochPlace | None = None
        self._named: set[str] = set()
        """Metrics that were not finite."""

    def set_model(self, model: object) -> None:
        """Finds the other callbacks, and puts this one after them. Refuses a model that is not stored."""
        super().set_model(model)  # type: ignore[misc]  # it is of the other base class
        with self._training.mistakes_reported():
            if model is not self._adapter.model:
                raise UserError(
                    "fit trains another model than program.restore(model) was given: checkpoints would not have its"
                    " weights, so give both the same model"
                )
        called_by = calling_list()
        if called_by is not None:
            self._others = [each for each in called_by.callbacks if each is not self]
            called_by.callbacks = [*self._others, self]  # another list: Keras goes through the present one

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Looks at the other callbacks before their `on_train_begin`. Keras calls it after `set_model` of all."""
        super().set_params(params)  # type: ignore[misc]  # it is of the other base class
        self._adapter.siblings.begin(self._others)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reports how many steps there will be, if Keras knows. Refuses more epochs than the program has.

        Fewer are allowed: a program may call `fit` several times, for one part of its epochs after the other.
        """
        del logs
        training = self._training
        with training.mistakes_reported():
            if self.params["epochs"] > training.epochs:
                raise UserError(
                    f"fit(epochs={self.params['epochs']}) has more epochs than Program(epochs={training.epochs}): give"
                    " both the same number"
                )
        training.telemetry.activity = "compiling"  # which the first step does
        if self.params.get("steps"):
            done = training.last.step if training.last else 0
            training.expect_steps(done + self.params["steps"] * (training.epochs - training.epochs_done))
        self._resume_fit()
        with training.mistakes_reported():
            self._place = EpochPlace.of(training, self._adapter)

    def _resume_fit(self) -> None:
        """Lets this `fit` continue if it is the one that was interrupted, and not one that is skipped."""
        start = self._training.start
        self._adapter.fit_epochs = self.params["epochs"]
        if start.step and self.params["epochs"] >= start.epochs + (not start.ends_epoch):
            self._adapter.resume_fit(start.epochs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Refuses an epoch that is not the next one: two epochs would have one number, or none would have it."""
        del logs
        self._batches = 0
        done = self._training.epochs_done
        with self._training.mistakes_reported():
            if epoch != done:
                raise UserError(
                    f"fit starts epoch {epoch + 1} after epoch {done}: give it initial_epoch={done}, which"
                    " program.restore(model) returns at the start"
                )
            if self._place:
                self._batches = self._place.begin_epoch()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Counts a step and checks its loss, which Keras fetches for every callback with this method."""
        self._batches = batch + 1
        self._step += 1
        self._check(logs)
        self._training.end_step(self._step)
        if self._place:
            self._place.end_step(self._step, is_last=self._batches == self.params.get("steps"))

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Stops the clock while `fit` evaluates."""
        del logs
        self._training.telemetry.clock.stop()

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Starts the clock again."""
        del logs
        self._training.telemetry.clock.step()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Stops the clock: what follows `fit` may take long. Shows whose weights an EarlyStopping keeps."""
        del logs
        telemetry = self._training.telemetry
        telemetry.clock.stop()
        if kept := self._adapter.siblings.kept_epoch:
            telemetry.progress = replace(telemetry.progress, best_epoch=kept)
        if passed := self._adapter.siblings.passed_epoch:
            log.warning(_LAST_WEIGHTS, {"best": passed})
        self._training.over()

    def _check(self, logs: dict[str, Any] | None) -> None:
        if logs and "loss" in logs:
            self._training.checked("loss", logs["loss"], self._step)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Reports the numbers of the epoch. One without a step, because the data have run out before, is none."""
        if not self._batches:
            self._training.ran_out = True
            return
        self._check(logs)
        scores = {name: float(value) for name, value in (logs or {}).items()}
        self._warn_of_lost(epoch + 1, scores)
        last = Epoch(epoch + 1, self._step, scores.get("loss", float("nan")), scores, 0.0)
        stops = bool(self.model.stop_training)
        ran_out = not stops and self._batches < (self.params.get("steps") or 0)
        self._training.ran_out = ran_out
        self._training.end_fitted_epoch(last, is_last=stops or ran_out)

    def _warn_of_lost(self, epoch: int, scores: Mapping[str, float]) -> None:
        """Warns once of each metric that is not finite. Training goes on: a later epoch may have a number."""
        lost = {name: value for name, value in scores.items() if not math.isfinite(value)}
        if self._training.replica.cluster.leads:
            for name in sorted(lost.keys() - self._named):
                log.warning(_NOT_FINITE, epoch, name, lost[name])
        self._named |= lost.keys()
