"""A running training of a workload or a program: reports its progress and stores its checkpoints.

    begin ──▶ reach ──▶ reach ──▶ ...

Each `reach` is a position between two steps. It checks the numbers, reports an epoch that has ended, stores a
checkpoint if one is due, and ends the process if SIGTERM has arrived.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

import qtj_contract as contract
from qtj_trainer.errors import DivergedError, StoppedError
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.tracked import About
from qtj_trainer.report.report import StoredProgress
from qtj_trainer.stored.checkpoints import Checkpoint, Checkpoints, State
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.stored.progress_log import log_progress, logged_epochs

__all__ = ["Numbers", "Shown", "Training"]

log = logging.getLogger("qtj_trainer")


class Numbers(Protocol):
    """An object with the arrays that training changes."""

    def state(self) -> State:
        """Returns all arrays."""

    def restore(self, state: State) -> None:
        """Restores what `state` returned."""

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if a weight is not finite after a step."""


class Shown(NamedTuple):
    """The scores of an epoch that the job shows; see `qtj_contract.Progress`."""

    accuracy: float | None
    training_accuracy: float | None
    validation_loss: float | None
    others: Mapping[str, float]
    first: str | None


class Training(ABC):
    """One training of a replica.

    Attributes:
        replica: The replica.
        telemetry: What the progress endpoint answers.
        epochs: Epochs of the whole training.
        last: The last finished epoch.
        counts_steps: Whether steps are counted; otherwise each epoch counts as one step, and no steps are reported.
        are_alike: Whether all processes hold the same numbers, so that any of them may store the last checkpoint.
    """

    counts_steps = True
    are_alike = False
    _numbers: Numbers

    def __init__(self, replica: Replica, checkpoints: Checkpoints, epochs: int) -> None:
        self.replica = replica
        self.telemetry = replica.telemetry
        self.epochs = epochs
        self.last: Epoch | None = None
        self._checkpoints = checkpoints
        self._record = StoredProgress(replica.store, replica.environment, replica.attempt)

    @property
    def epochs_done(self) -> int:
        """Number of finished epochs."""
        return self.last.number if self.last else 0

    def begin(self, numbers: Numbers, checkpoint: Checkpoint | None) -> Position:
        """Restores a checkpoint, if there is one, and returns its position.

        Args:
            numbers: What is trained.
            checkpoint: The checkpoint from which all processes resume; None starts the training from the beginning.

        Raises:
            UserError: If the checkpoint does not fit.
        """
        self._numbers = numbers
        position = checkpoint.position if checkpoint else Position()
        if checkpoint:
            numbers.restore(checkpoint.state)
            numbers.check_finite(position.step)
            within = "" if position.ends_epoch else f" and step {position.step}"
            log.info("resumed after epoch %d%s from %s", position.epochs, within, checkpoint.uri)
            self._checkpoints.step = position.step
            self.last = position.last
            self.telemetry.progress = self.progress(position)
        if self.replica.cluster.leads:
            self._record.begin()
            if self.replica.tracked.is_wanted:
                self._track(position)
        return position

    def _track(self, position: Position) -> None:
        """Opens the run at the tracking server. Epochs that this attempt repeats are its own."""
        earlier = self._record.epochs() or logged_epochs(self.replica.environment)
        known = [each for each in earlier if each.number <= position.epochs]
        is_resumed = position.step > 0 or self.replica.attempt > 1
        self.replica.tracked.begin(self.about(), known, is_resumed=is_resumed)

    @abstractmethod
    def about(self) -> About:
        """Returns what is trained, for a tracking server."""

    def expect_steps(self, steps: int, devices: int | None = None) -> None:
        """Sets the number of steps of the whole training, and the number of devices."""
        self.telemetry.progress = replace(self.telemetry.progress, steps=steps, devices=devices)

    def progress(self, position: Position) -> contract.Progress:
        """Returns the progress at a position."""
        progress = replace(
            self.telemetry.progress,
            epoch=position.epochs,
            epochs=self.epochs,
            step=position.step if self.counts_steps else None,
            checkpoint_step=self._checkpoints.step or None,
        )
        if position.last is None:
            return progress
        shown = self.shown(position.last)
        return replace(
            progress,
            loss=position.last.loss,
            accuracy=shown.accuracy,
            validation_loss=shown.validation_loss,
            training_accuracy=shown.training_accuracy,
            scores=shown.others,
            metric=shown.first,
            examples_per_second=position.last.examples_per_second or None,
            gradient_variance=position.last.gradient_variance,
            best_epoch=position.best.number if position.best else None,
        )

    @abstractmethod
    def shown(self, epoch: Epoch) -> Shown:
        """Returns the scores of an epoch that the job shows."""

    def show(self, position: Position) -> None:
        """Shows the position after a step at the progress endpoint."""
        self.telemetry.step(self.progress(position))

    def report_epoch(self, position: Position, line: str = "") -> None:
        """Reports a finished epoch: at the progress endpoint, in the log, and in the progress log.

        Args:
            position: Its end.
            line: Its line in the log; if empty, nothing is logged.
        """
        self.last = position.last
        self.telemetry.show(self.progress(position))
        if line:
            log.info("epoch %s", line, extra={"progress": self.telemetry.progress.to_dict()})
        if self.replica.cluster.leads:
            log_progress(self.replica.environment, self.telemetry.progress)
            self._record.add(self.telemetry.progress)
            self.replica.tracked.add(self.telemetry.progress)

    def reach(self, position: Position, seconds: float, *, settled: bool = True) -> None:
        """Does what is due at a position between two steps.

        Args:
            position: How far training is.
            seconds: Seconds since the last position.
            settled: Whether a checkpoint can hold the position, because no step is running.

        Raises:
            DivergedError: If a weight is not finite at the end of an epoch or when a checkpoint is due. All processes
                raise it at the same step.
            StoppedError: If SIGTERM has arrived.
        """
        self.replica.stop.expect(seconds)
        self._take_over_stop(settled=settled)  # if SIGTERM has arrived, the rest of this method is not interrupted
        if position.ends_epoch or self._checkpoints.is_due(position):
            self._numbers.check_finite(position.step)
        if position.ends_epoch:
            with self.telemetry.clock.paused():
                self.end_epoch(position)
        is_stopping = self._take_over_stop(settled=settled)
        self._keep(position, is_stopping=is_stopping)
        if is_stopping:
            self._end_if_asked(position)

    def _end_if_asked(self, position: Position) -> None:
        """Raises StoppedError if SIGTERM has arrived."""
        if self.replica.stop.is_requested():
            self.flush()
            me = self.replica.cluster.me or "the training"
            raise StoppedError(f"{me} was asked to end, after step {position.step}")

    @abstractmethod
    def end_epoch(self, position: Position) -> None:
        """Handles the end of an epoch, before its checkpoint is stored."""

    def clear(self) -> None:
        """Deletes the checkpoints: the job has its result."""
        self.flush()
        self._checkpoints.clear()

    def flush(self) -> None:
        """Stores the numbers of the last epochs."""
        self._record.flush()

    def _take_over_stop(self, *, settled: bool) -> bool:
        """Lets only the main thread end the process, if SIGTERM has arrived. Returns whether it must end here."""
        stop = self.replica.stop
        if settled and stop.is_requested():
            stop.patience = inf
            return True
        return False

    def _keep(self, position: Position, *, is_stopping: bool = False) -> None:
        """Stores a checkpoint if one is due, or if the process must end here."""
        leads = self.replica.cluster.leads
        if leads and self._checkpoints.is_due(position):
            with self.replica.stop.deferred(), self.telemetry.clock.paused():
                self._checkpoints.save(position, self._numbers.state())
            self.telemetry.progress = self.progress(position)
        elif is_stopping and self._checkpoints.are_wanted and (leads or self.are_alike):
            self._keep_the_last(position)

    def _keep_the_last(self, position: Position) -> None:
        """Stores the last checkpoint of a process, unless its weights are not finite.

        The peers may not check their weights after this step, so training must not fail permanently here: the next
        attempt diverges again, in all processes.
        """
        with self.replica.stop.deferred(), self.telemetry.clock.paused(), suppress(DivergedError):
            self._numbers.check_finite(position.step)
            self._checkpoints.add(position, self._numbers.state())
