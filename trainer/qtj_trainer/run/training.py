"""The training of a program: what it has come to, told and stored, whatever framework it is of."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qtj_operator.api import contract
from qtj_trainer.run.adapter import REMEDY, Adapter
from qtj_trainer.run.artifacts import Result, store_object
from qtj_trainer.run.checkpoints import Checkpoints
from qtj_trainer.run.diverged import check_number
from qtj_trainer.run.metrics import numbers
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.run.progress_log import log_progress
from qtj_trainer.run.session import Session
from qtj_trainer.workloads.options import Options

__all__ = ["Training", "store_result"]


class Training:
    """One training under way.

    Attributes:
        last: The last finished epoch.
        telemetry: What the progress endpoint says.
    """

    def __init__(self, session: Session, adapter: Adapter, options: Options) -> None:
        self._session = session
        self._adapter = adapter
        self._options = options
        self._checkpoints = Checkpoints(session.store, session.uid, adapter, options)
        self.last: Epoch | None = None
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

    def check_loss(self, loss: float, step: int) -> None:
        """Ends the process if a loss is not finite."""
        with self._session.mistakes_told():
            check_number("loss", loss, step, REMEDY)

    def end_step(self, step: int) -> None:
        """Tells a step."""
        self.telemetry.progress, self.telemetry.activity = replace(self.telemetry.progress, step=step), ""

    def end_epoch(self, epoch: Epoch) -> None:
        """Tells and stores an epoch."""
        with self._session.mistakes_told():
            self._adapter.check_finite(epoch.step)
        self.last = epoch
        position = Position(epoch.step, epoch)
        self.telemetry.progress = self._progress(position)
        if self._session.cluster.leads:
            log_progress(self._session.environment, self.telemetry.progress)
            self._keep(position)

    def clear(self) -> None:
        """Deletes the checkpoints: the job has its result."""
        self._checkpoints.clear()

    def _progress(self, position: Position) -> contract.Progress:
        said = replace(
            self.telemetry.progress,
            epoch=position.epochs,
            step=position.step,
            checkpoint_step=self._checkpoints.step or None,
        )
        if position.last is None:
            return said
        scores = position.last.scores
        return replace(said, loss=position.last.loss, accuracy=scores.get("val_accuracy", scores.get("accuracy")))

    def _keep(self, position: Position) -> None:
        """Stores a checkpoint when one is due."""
        if self._checkpoints.is_due(position):
            with self._session.mistakes_told(), self._session.stop.held_up():
                self._checkpoints.save(position, self._adapter.state())
                self.telemetry.progress = self._progress(position)


def store_result(session: Session, adapter: Adapter, metrics: Mapping[str, Any]) -> Result:
    """Stores weights, and then the result that names them.

    Raises:
        UserError: If the store refuses them, or a metric is no finite number: the weights are stored by then.
    """
    _, weights = store_object(session.store, "weights", adapter.suffix, adapter.dump())
    result = Result(
        job_uid=session.uid,
        weights=contract.Weights(uri=weights.uri, sha256=weights.sha256),
        metrics=numbers(metrics),  # after the weights: a mistake here must not cost them
        progress=session.telemetry.progress,
    )
    result.store(session.store)
    return result
