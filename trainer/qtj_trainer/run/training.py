"""One training under way, whatever is trained: its progress is reported, its checkpoints are stored.

    begin ──▶ reach ──▶ reach ──▶ ...

Each `reach` is a position between two steps. There the numbers are checked, an epoch that has ended is reported, a
checkpoint is stored if one is due, and the process ends if SIGTERM has arrived.
"""

import logging
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

import qtj_contract as contract
from qtj_trainer.errors import DivergedError, StoppedError
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints, State
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.run.progress_log import log_progress
from qtj_trainer.run.replica import Replica

__all__ = ["Numbers", "Shown", "Training"]

log = logging.getLogger("qtj_trainer")


class Numbers(Protocol):
    """What holds the numbers that training changes."""

    def state(self) -> State:
        """Returns all of them."""

    def restore(self, state: State) -> None:
        """Puts back what `state` has returned."""

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if a weight is not finite after a step."""


class Shown(NamedTuple):
    """The scores of an epoch that the job shows; see `qtj_contract.Progress`."""

    accuracy: float | None
    training_accuracy: float | None
    validation_loss: float | None


class Training(ABC):
    """One training of a replica.

    Attributes:
        replica: The replica.
        telemetry: What the progress endpoint answers.
        epochs: Epochs that were asked for.
        last: The last finished epoch.
        counts_steps: Whether steps are counted; else each epoch counts as one, and none is reported.
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

    @property
    def epochs_done(self) -> int:
        """Finished epochs."""
        return self.last.number if self.last else 0

    def begin(self, numbers: Numbers, checkpoint: Checkpoint | None) -> Position:
        """Restores a checkpoint, if there is one, and returns its position.

        Args:
            numbers: What is trained.
            checkpoint: The checkpoint that all processes resume from; None for a start from the beginning.

        Raises:
            UserError: If it does not fit.
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
        return position

    def expect_steps(self, steps: int, devices: int | None = None) -> None:
        """Sets how many steps there will be in all, and on how many devices."""
        self.telemetry.progress = replace(self.telemetry.progress, steps=steps, devices=devices)

    def progress(self, position: Position) -> contract.Progress:
        """Returns the progress at a position."""
        known = replace(
            self.telemetry.progress,
            epoch=position.epochs,
            epochs=self.epochs,
            step=position.step if self.counts_steps else None,
            checkpoint_step=self._checkpoints.step or None,
        )
        if position.last is None:
            return known
        shown = self.shown(position.last)
        return replace(
            known,
            loss=position.last.loss,
            accuracy=shown.accuracy,
            validation_loss=shown.validation_loss,
            training_accuracy=shown.training_accuracy,
            examples_per_second=position.last.examples_per_second or None,
            gradient_variance=position.last.gradient_variance,
            best_epoch=position.best.number if position.best else None,
        )

    @abstractmethod
    def shown(self, epoch: Epoch) -> Shown:
        """Returns the scores of an epoch that the job shows."""

    def show(self, position: Position) -> None:
        """Shows a position at the progress endpoint."""
        self.telemetry.progress, self.telemetry.activity = self.progress(position), ""

    def report_epoch(self, position: Position, line: str = "") -> None:
        """Reports a finished epoch: at the progress endpoint, in the log, and in the progress log.

        Args:
            position: Its end.
            line: Its line of the log; none if it is empty.
        """
        self.last = position.last
        self.show(position)
        if line:
            log.info("epoch %s", line, extra={"progress": self.telemetry.progress.to_dict()})
        if self.replica.cluster.leads:
            log_progress(self.replica.environment, self.telemetry.progress)

    def reach(self, position: Position, seconds: float, *, settled: bool = True) -> None:
        """Does what is due at a position between two steps.

        Args:
            position: How far training is.
            seconds: Since the last such position.
            settled: Whether a checkpoint can hold the position: no step is under way.

        Raises:
            DivergedError: If a weight is not finite at the end of an epoch or where a checkpoint is due. All processes
                raise it at the same step.
            StoppedError: If SIGTERM has arrived.
        """
        self.replica.stop.expect(seconds)
        self._is_stopping(settled=settled)  # SIGTERM has arrived before: what follows may take its time
        if position.ends_epoch or self._checkpoints.is_due(position):
            self._numbers.check_finite(position.step)
        if position.ends_epoch:
            self.end_epoch(position)
        is_stopping = self._is_stopping(settled=settled)
        self._keep(position, is_stopping=is_stopping)
        if is_stopping:
            me = self.replica.cluster.me or "the training"
            raise StoppedError(f"{me} was told to end, after step {position.step}")

    @abstractmethod
    def end_epoch(self, position: Position) -> None:
        """Does what the end of an epoch needs before its checkpoint is stored."""

    def clear(self) -> None:
        """Deletes the checkpoints: the job has its result."""
        self._checkpoints.clear()

    def _is_stopping(self, *, settled: bool) -> bool:
        """Returns whether the process ends at this position; if so, only the main thread ends it from now on."""
        stop = self.replica.stop
        if settled and stop.is_told():
            stop.patience = inf
            return True
        return False

    def _keep(self, position: Position, *, is_stopping: bool = False) -> None:
        """Stores a checkpoint if one is due, or if the process ends here."""
        leads = self.replica.cluster.leads
        if leads and self._checkpoints.is_due(position):
            with self.replica.stop.held_up():
                self._checkpoints.save(position, self._numbers.state())
            self.telemetry.progress = self.progress(position)
        elif is_stopping and self._checkpoints.are_wanted and (leads or self.are_alike):
            self._keep_the_last(position)

    def _keep_the_last(self, position: Position) -> None:
        """Stores the checkpoint of a process that ends, unless its weights are not finite.

        The peers may not check their weights after this step, so training must not fail here for good: the next attempt
        diverges again, in all processes.
        """
        with self.replica.stop.held_up(), suppress(DivergedError):
            self._numbers.check_finite(position.step)
            self._checkpoints.add(position, self._numbers.state())
