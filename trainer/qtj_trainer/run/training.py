"""The training of a program: what it has come to, told and stored, whatever framework it is of."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from typing import Any

import qtj_contract as contract
from qtj_trainer.errors import StoppedError
from qtj_trainer.run.adapter import REMEDY, Adapter
from qtj_trainer.run.artifacts import Result, store_object
from qtj_trainer.run.checkpoints import Checkpoints
from qtj_trainer.run.diverged import check_number
from qtj_trainer.run.exported import store_circuits
from qtj_trainer.run.metrics import number_of, numbers
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.run.progress_log import log_progress
from qtj_trainer.run.session import Session
from qtj_trainer.workloads.options import Options

__all__ = ["Training", "store_result"]

_SOON = 10.0
"""Seconds: a process that is told to end does not wait for what takes longer, as it would be killed before."""


class Training:
    """One training under way.

    Attributes:
        last: The last finished epoch.
        epochs: Epochs that were asked for.
        telemetry: What the progress endpoint says.
        counts_steps: Whether steps are counted; else each epoch counts as one, and none is told.
    """

    def __init__(self, session: Session, adapter: Adapter, options: Options, *, counts_steps: bool = True) -> None:
        self._session = session
        self._adapter = adapter
        self.counts_steps = counts_steps
        self._checkpoints = Checkpoints(session.store, session.uid, adapter, options)
        self.last: Epoch | None = None
        self.epochs = options.epochs
        self.telemetry = session.telemetry

    def resume(self) -> Position:
        """Puts back the last checkpoint, and returns how far that is."""
        with self._session.mistakes_told():
            checkpoint = self._adapter.newest(self._checkpoints, self._session.cluster)
            if not checkpoint:
                return Position()
            self._adapter.restore(checkpoint.state)
        self._checkpoints.step = checkpoint.position.step
        self.last = checkpoint.position.last
        self.telemetry.progress = self._progress(checkpoint.position)
        return checkpoint.position

    @property
    def epochs_done(self) -> int:
        """Finished epochs."""
        return self.last.number if self.last else 0

    def mistakes_told(self) -> AbstractContextManager[None]:
        """Ends the process with the sentence of an error of ours."""
        return self._session.mistakes_told()

    def checked(self, name: str, value: Any, step: int) -> float:  # noqa: ANN401  a number of any framework
        """Returns a loss or a score of a step; ends the process if it is none, or not finite."""
        with self.mistakes_told():
            number = number_of(name, value)
            check_number(name, number, step, REMEDY)
        return number

    def expect_steps(self, steps: int) -> None:
        """Tells how many steps there will be in all."""
        self.telemetry.progress = replace(self.telemetry.progress, steps=steps)

    def end_step(self, step: int) -> None:
        """Tells a step."""
        self.counts_steps = True
        self.telemetry.progress, self.telemetry.activity = replace(self.telemetry.progress, step=step), ""

    def end_epoch(self, epoch: Epoch) -> None:
        """Tells and stores an epoch."""
        with self.mistakes_told():
            self._adapter.check_finite(epoch.step)
            self.tell_epoch(epoch)
            self._keep(Position(epoch.step, epoch))

    def tell_epoch(self, epoch: Epoch) -> None:
        """Tells an epoch."""
        self.last = epoch
        self.telemetry.progress, self.telemetry.activity = self._progress(Position(epoch.step, epoch)), ""
        if self._session.cluster.leads:
            log_progress(self._session.environment, self.telemetry.progress)

    def reach(self, position: Position, seconds: float) -> None:
        """Comes to a position that a checkpoint can hold, the end of the process if it was told to end.

        Args:
            position: How far training is.
            seconds: How long it took from the last such position.
        """
        stop = self._session.stop
        told = stop.is_told()
        if told:
            stop.patience = inf  # from here on the main thread ends the process
        with self.mistakes_told():
            if position.ends_epoch or self._is_due(position, surely=told):
                self._adapter.check_finite(position.step)
            if position.ends_epoch and position.epochs == 1:
                self._adapter.warn_if_unchanged()
            self._keep(position, surely=told)
            if told:
                raise StoppedError(
                    f"{self._session.cluster.me or 'the training'} was told to end, after step {position.step}"
                )
        stop.expect(seconds)
        if seconds > _SOON:
            stop.patience = 0.0

    def over(self) -> None:
        """After the last epoch, a process that is told to end need not wait for the end of a step."""
        self._session.stop.patience = 0.0

    def clear(self) -> None:
        """Deletes the checkpoints: the job has its result."""
        self._checkpoints.clear()

    def _progress(self, position: Position) -> contract.Progress:
        said = replace(
            self.telemetry.progress,
            epoch=position.epochs,
            step=position.step if self.counts_steps else None,
            checkpoint_step=self._checkpoints.step or None,
        )
        if position.last is None:
            return said
        scores = position.last.scores
        return replace(
            said,
            loss=position.last.loss,
            training_accuracy=scores.get("accuracy"),
            validation_loss=scores.get("val_loss"),
            accuracy=scores.get("val_accuracy"),
        )

    def _keep(self, position: Position, *, surely: bool = False) -> None:
        """Stores a checkpoint where one is due."""
        if self._is_due(position, surely=surely):
            with self._session.stop.held_up():
                self._checkpoints.save(position, self._adapter.state())
            self.telemetry.progress = self._progress(position)

    def _is_due(self, position: Position, *, surely: bool) -> bool:
        checkpoints = self._checkpoints
        due = checkpoints.is_due(position) or (surely and checkpoints.are_wanted)
        return due and self._session.cluster.leads


def store_result(session: Session, adapter: Adapter, metrics: Mapping[str, Any]) -> Result:
    """Stores weights, and then the result that names them.

    Raises:
        UserError: If the store refuses them, or a metric is no finite number: the weights are stored by then.
    """
    name, weights = store_object(session.store, "weights", adapter.suffix, adapter.dump())
    store_circuits(session.store, name, getattr(adapter, "model", None))
    result = Result(
        job_uid=session.uid,
        weights=contract.Weights(uri=weights.uri, sha256=weights.sha256),
        metrics=numbers(metrics),  # after the weights: a mistake here must not cost them
        progress=session.telemetry.progress,
    )
    result.store(session.store)
    return result
