"""A `fit` that can be continued within an epoch: its checkpoints after steps, and on SIGTERM."""

import logging
import time
from typing import TYPE_CHECKING, Self

from qtj_trainer.errors import UserError
from qtj_trainer.program.keras_place import begin_at, obstacle, running_handler
from qtj_trainer.stored.position import Position

if TYPE_CHECKING:
    from qtj_trainer.program.keras_model import KerasModel
    from qtj_trainer.program.program_training import ProgramTraining

__all__ = ["EpochPlace"]

log = logging.getLogger("qtj_trainer")


class EpochPlace:
    """Where a `fit` is within an epoch.

    Args:
        training: The training.
        adapter: Its model.
    """

    def __init__(self, training: "ProgramTraining", adapter: "KerasModel") -> None:
        self._training = training
        self._adapter = adapter
        self._since = time.perf_counter()

    @classmethod
    def of(cls, training: "ProgramTraining", adapter: "KerasModel") -> Self | None:
        """Returns the place of the `fit` that calls; None if it can only be continued after an epoch.

        Raises:
            UserError: If a checkpoint is within an epoch, and this `fit` cannot be continued there.
        """
        handler, _ = running_handler()
        why = obstacle(adapter.model, handler)
        if why and not training.start.ends_epoch and training.start.step and training.last is training.start.last:
            raise UserError(
                f"the checkpoint is within epoch {training.start.epochs + 1}, and fit cannot continue there ({why}):"
                " call fit as before, or delete the checkpoint"
            )
        if why and training.checkpoint_steps:
            log.warning("checkpoints are stored at the end of epochs alone: %s", why)
        return None if why else cls(training, adapter)

    def begin_epoch(self) -> int:
        """Begins an epoch; if it is the one of the checkpoint, at its place. Returns the batches that are done."""
        self._since = time.perf_counter()
        training = self._training
        start, last = training.start, training.start.last
        batches = start.step - (last.step if last else 0)
        if not batches or training.last is not last:
            return 0
        handler, iterator = running_handler()
        begin_at(self._adapter.model, handler, iterator, batches)
        self._adapter.take_metrics()
        return batches

    def end_step(self, step: int, *, is_last: bool) -> None:
        """Stores a checkpoint after a step if one is due, or if SIGTERM has arrived: then the process ends.

        Args:
            step: The step.
            is_last: Whether it is the last one of the epoch, which has a checkpoint of its own.
        """
        seconds = time.perf_counter() - self._since
        if is_last:
            self._training.replica.stop.expect(seconds)
            return
        self._adapter.is_within_epoch = True
        self._training.reach(Position(step, self._training.last), seconds)
        self._adapter.is_within_epoch = False
        self._since = time.perf_counter()
