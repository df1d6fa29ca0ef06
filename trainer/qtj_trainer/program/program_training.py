"""The training of a user's own program, in any framework."""

import atexit
import logging
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import qtj_contract as contract
from qtj_trainer.arrays.metrics import check_number, number_of, numbers
from qtj_trainer.exchange_clock import time_exchanges
from qtj_trainer.program.adapter import REMEDY, Adapter
from qtj_trainer.program.keras_model import KerasModel
from qtj_trainer.program.session import Session
from qtj_trainer.replica.captures import Captures, planned_captures
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.tracked import About
from qtj_trainer.replica.training import Shown, Training
from qtj_trainer.stored.artifacts import Result, store_object
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.exported import store_circuits
from qtj_trainer.stored.extension import extension_of
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.tensorboard.program_curves import ProgramCurves
from qtj_trainer.workloads.options import Options

__all__ = ["ProgramTraining", "store_result"]

log = logging.getLogger("qtj_trainer")

_OWN_FIELDS = {"accuracy", "loss", "val_accuracy", "val_loss"}
"""Keras' names of the scores that a progress has a field for."""

_SOON = 10.0
"""Seconds. On SIGTERM, a process does not wait for a step that takes longer, because it would be killed before."""


class ProgramTraining(Training):
    """The training of a program. A mistake of the program ends the process with one sentence.

    Attributes:
        start: The position of the checkpoint from which it was resumed, or the start of the training.
        captures: The profiles that it takes of itself. They start and end after a step that the program reports.
        ran_out: Whether the data ended before the steps that `fit` was asked for.
    """

    ran_out = False

    def __init__(self, session: Session, adapter: Adapter, options: Options) -> None:
        replica = session.replica
        extension = extension_of(replica.environment)
        checkpoints = Checkpoints(replica.store, replica.job_uid, adapter, options, extension=extension)
        super().__init__(replica, checkpoints, options.epochs)
        self._session = session
        self._adapter = adapter
        self._options = options
        if "tensorflow" in sys.modules:  # a program in another framework does not load it for this
            time_exchanges()
        self.counts_steps = self._is_fitted = isinstance(adapter, KerasModel)
        with self.mistakes_reported():
            planned = planned_captures(replica)
            self.start = self.begin(adapter, adapter.newest(self._checkpoints, replica.cluster))
            self.captures = Captures(replica, planned, self.start)
        session.record.add_imports()
        run = run_name(replica.environment)
        self._board = (
            ProgramCurves(replica.store, run, self.start.step + 1, session.parameters)
            if replica.cluster.leads
            else None
        )
        atexit.register(self.warn_if_unfinished)

    def mistakes_reported(self) -> AbstractContextManager[None]:
        """Ends the process with one sentence for a `TrainerError` in the block."""
        return self._session.mistakes_reported()

    def checked(self, name: str, value: Any, step: int) -> float:
        """Returns a loss or a score of a step; ends the process if it is not a finite number."""
        with self.mistakes_reported():
            number = number_of(name, value)
            check_number(name, number, step, REMEDY)
        return number

    def end_step(self, step: int) -> None:
        """Counts a step."""
        self.counts_steps = True
        self.telemetry.clock.lap()
        self.telemetry.step(replace(self.telemetry.progress, step=step))
        self.captures.reach(step, self.epochs_done)

    @property
    def checkpoint_steps(self) -> int:
        """Steps from one checkpoint within an epoch to the next; 0 for none."""
        return self._options.checkpoint_steps

    def end_fitted_epoch(self, epoch: Epoch, *, is_last: bool) -> None:
        """Reports an epoch of `fit`, and stores its checkpoint. Ends the process if SIGTERM has arrived meanwhile.

        Args:
            epoch: The epoch.
            is_last: Whether `fit` ends here, because of a callback or without data. No checkpoint is stored then,
                because `fit` would continue after it: a restart repeats the epoch, and ends in the same way.
        """
        position = Position(epoch.step, epoch)
        with self.mistakes_reported(), self.telemetry.clock.paused():
            self._adapter.check_finite(epoch.step)
            self.report_epoch(position)
            if not is_last and self._checkpoints.is_due(position):
                self._adapter.read_together()
                self._keep(position)
            self._end_if_asked(position)

    def report_epoch(self, position: Position, line: str = "") -> None:
        """Reports a finished epoch, see `Training.report_epoch`, also to TensorBoard."""
        super().report_epoch(position, line)
        if self._board and position.last:
            self._board.show(position.last)

    def flush(self) -> None:
        """Stores the numbers of the last epochs."""
        super().flush()
        if self._board:
            self._board.flush()

    def reach(self, position: Position, seconds: float, *, settled: bool = True) -> None:
        """Handles a position, see `Training.reach`. After a long step, the next SIGTERM ends the process at once."""
        with self.mistakes_reported():
            super().reach(position, seconds, settled=settled)
        if seconds > _SOON:
            self.over()

    def end_epoch(self, position: Position) -> None:
        """Warns if the first epoch has changed nothing. The epoch is reported already."""
        if position.epochs == 1:
            self._adapter.warn_if_unchanged()

    def over(self) -> None:
        """Lets SIGTERM end the process at once from now on, because no end of a step is close."""
        self.replica.stop.patience = 0.0

    def close(self) -> None:
        """Ends what outlives the last step in a process that goes on after the program."""
        atexit.unregister(self.warn_if_unfinished)

    @property
    def warning(self) -> str:
        """What the job shows as a warning, because training has not done it; empty if there is nothing."""
        progress = self.telemetry.progress
        done = f"training ended after {progress.step} of {progress.steps} steps, because the data ran out"
        return f"{done}: use data.repeat(), or leave out steps_per_epoch" if self.ran_out else ""

    def log_early_end(self) -> None:
        """Logs why a result has fewer epochs than `Program(epochs=...)`."""
        if self.warning:
            log.warning("%s", self.warning)
            return
        if self.epochs_done == self.epochs:
            return
        if self._is_fitted and self.epochs_done == self.start.epochs:
            log.warning("no epoch was reported: give fit callbacks=[program.callback()], for progress and checkpoints")
            return
        log.info("training ended after %d of %d epochs", self.epochs_done, self.epochs)

    def warn_if_unfinished(self) -> None:
        """Warns when the interpreter exits. Neither `finish` nor an uncaught error gets there.

        It is only a warning: spec.artifacts.weights may name weights that the program has stored itself, and `atexit`
        does not know the exit code, which may be the one for a retry.
        """
        if self.epochs_done == self.epochs and self.replica.cluster.leads:
            log.warning(
                "the training is done, and program.finish(...) was never called: the job has only the weights that"
                " spec.artifacts.weights names"
            )

    def about(self) -> About:
        """Returns the arguments of the program, and where its text comes from."""
        return self._session.record.about(self._session.parameters)

    def shown(self, epoch: Epoch) -> Shown:
        """Returns the scores with Keras' names for accuracy and loss."""
        scores = epoch.scores
        others = {name: value for name, value in scores.items() if name not in _OWN_FIELDS}
        first = next((name for name in scores if name != "loss"), None)
        return Shown(scores.get("val_accuracy"), scores.get("accuracy"), scores.get("val_loss"), others, first)


def store_result(
    replica: Replica, adapter: Adapter, data: bytes, metrics: Mapping[str, Any], warning: str = ""
) -> Result:
    """Stores weights, and then the result that names them.

    Args:
        replica: The leader.
        adapter: The model or state.
        data: Its encoded weights.
        metrics: Finite numbers by name.
        warning: What the training has not done; empty if it has done all.

    Raises:
        UserError: If the store refuses them, or a metric is not a finite number; the weights are stored by then.
    """
    name, weights = store_object(replica.store, "weights", adapter.suffix, data)
    store_circuits(replica.store, name, getattr(adapter, "model", None))
    checked = numbers(metrics)  # after the weights, which a mistake here must not lose
    return replica.store_result(contract.Weights(uri=weights.uri, sha256=weights.sha256), checked, warning=warning)
