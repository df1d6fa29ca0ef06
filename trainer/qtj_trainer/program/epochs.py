"""The epochs of a custom training loop, which `Program.epochs` yields."""

import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import fields
from typing import Any, TypeVar, cast

import qtj_contract as contract
from qtj_trainer.errors import UserError
from qtj_trainer.program.program_training import ProgramTraining
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.stored.progress_log import epoch_line

__all__ = ["RunningEpoch", "running_epochs"]

Item = TypeVar("Item")

_KEPT_BY_THE_JOB = {field.name for field in fields(contract.Progress)} - {"loss", "accuracy"}
"""Names of the contract that are not scores: a score with such a name would contradict the job's number."""


def running_epochs(training: ProgramTraining) -> "Iterator[RunningEpoch]":
    """Yields the remaining epochs, and reports and stores each one when it ends."""
    position = training.start
    for _ in range(training.start.epochs, training.epochs):
        epoch = RunningEpoch(training, position)
        yield epoch
        position = epoch._end()  # noqa: SLF001  not for programs
    training.over()
    training.telemetry.clock.stop()


class RunningEpoch:
    """A running epoch. It ends with the loop's body; a checkpoint is stored then.

    Attributes:
        number: Its number, from 1.
    """

    def __init__(self, training: ProgramTraining, start: Position) -> None:
        self.number = start.epochs + 1
        self._training = training
        self._last = start.last
        self._first_step = start.last.step if start.last else 0
        self._step = start.step
        self._steps_to_skip = start.step - self._first_step
        """Steps of this epoch that the checkpoint holds."""
        self._expected = 0
        """Steps of this epoch, as far as `steps` can count them."""
        self._count, self._total = start.sums or (0.0, 0.0)
        self._steps_are_items = False
        self._is_within_step = False
        self._reported: Epoch | None = None
        self._is_over = False
        self._since = time.perf_counter()

    def steps(self, items: "Iterable[Item] | int") -> Iterator[Item]:
        """Yields items, one for each step; after a restart, only those of steps that the last checkpoint does not hold.

        With it, SIGTERM and `checkpoint_steps` store checkpoints within an epoch. The items may depend only on the
        number of the epoch, and not on earlier steps. A step that ends with `break` counts as the last one. An epoch
        may call this method more than once, for one part after the other.

        Args:
            items: A list of batches, a data loader, or the number of steps; at least one. An iterator is refused.

        Raises:
            UserError: If there are no items, or they are an iterator: it cannot be continued after a restart.
        """
        self._check_under_way("steps")
        if isinstance(items, int):
            items = cast("Iterable[Item]", range(items))
        with self._training.mistakes_reported():
            if isinstance(items, Iterator):
                raise UserError(
                    f"epoch.steps() cannot start in the middle of a {type(items).__name__}: give it a list, a data"
                    " loader or a number of steps"
                )
            if isinstance(items, Sized) and not len(items):
                raise UserError(
                    f"epoch.steps() has no steps in epoch {self.number}: give it batches, or at least one step"
                )
        if isinstance(items, Sized):
            self._expected += len(items)
            before = self._training.telemetry.progress.steps or 0  # with all parts of an epoch; this may be the first
            self._training.expect_steps(
                max(before, self._first_step + self._expected * (self._training.epochs - self.number + 1))
            )
        self._end_step_left()
        self._steps_are_items = True
        try:
            for item in items:
                if self._steps_to_skip:
                    self._steps_to_skip -= 1
                    continue
                self._is_within_step = True
                yield item
                self._end_step()
                self._training.reach(self._position, time.perf_counter() - self._since)
                self._since = time.perf_counter()
            self._steps_are_items = False
        finally:  # also after `break`
            self._training.telemetry.clock.stop()  # what follows may be an evaluation

    def step(self, *, loss: Any = None) -> None:
        """Reports the loss of a step; outside of `steps`, also counts the step.

        Args:
            loss: A number, which is fetched from its device. The mean over the steps is the epoch's loss, unless
                `report` has another one.
        """
        self._check_under_way("step")
        if loss is not None:
            value = self._training.checked("loss", loss, self._step + 1)
            self._count, self._total = self._count + 1, self._total + value
        if not self._steps_are_items:
            self._end_step()

    def report(self, *, loss: Any = None, **scores: Any) -> None:
        """Reports the numbers of the epoch to the job and in the log. At most once, at the end of the epoch.

        An epoch that ends with `break` counts as finished if it was reported.

        Args:
            loss: Its training loss; None for the mean over its steps.
            scores: Finite numbers by name. Names that the job uses itself, such as `epoch` and `step`, are refused. The
                job shows three scores, named as in Keras: `accuracy` of the training set, `val_accuracy` and `val_loss`
                of the held-out set; the accuracy in its status is `val_accuracy`. The log shows all scores.

        Raises:
            UserError: If it is not called at the end of its epoch, or the job uses a name itself.
        """
        self._check_under_way("report")
        with self._training.mistakes_reported():
            if self._reported:
                raise UserError(f"epoch.report() was called twice in epoch {self.number}: call it once, at its end")
            _check_names(scores)
        mean = self._total / self._count if self._count else float("nan")
        done = self._step + self._is_within_step
        step = done if done > self._first_step else done + 1  # an epoch without steps counts as one step
        value = mean if loss is None else self._training.checked("loss", loss, step)
        checked = {name: self._training.checked(name, score, step) for name, score in scores.items()}
        self._reported = Epoch(self.number, step, value, checked, 0.0)
        self._training.report_epoch(Position(step, self._reported), epoch_line(self._reported, self._training.epochs))

    @property
    def _position(self) -> Position:
        return Position(self._step, self._last, (self._count, self._total))

    def _check_under_way(self, method: str) -> None:
        with self._training.mistakes_reported():
            if self._is_over:
                raise UserError(
                    f"epoch.{method}() was called after the end of epoch {self.number}: call it in the body of the loop"
                    " over program.epochs()"
                )

    def _end_step(self) -> None:
        self._step += 1
        self._is_within_step = False
        with self._training.mistakes_reported():
            if self._reported and self._step > self._reported.step:
                raise UserError(
                    f"epoch.report() was called before the last step of epoch {self.number}: call it after the loop"
                    " over its steps"
                )
        self._training.end_step(self._step)

    def _end_step_left(self) -> None:
        """Counts a step that ended with `break`."""
        if self._is_within_step:
            self._end_step()

    def _end(self) -> Position:
        """Ends the epoch, and returns the position of its end."""
        self._end_step_left()
        if self._reported is None:
            self.report()
        assert self._reported
        self._is_over = True
        if self._training.telemetry.progress.steps is not None:
            steps = self._reported.step - self._first_step
            self._training.expect_steps(self._reported.step + steps * (self._training.epochs - self.number))
        position = Position(self._reported.step, self._reported)
        self._training.reach(position, time.perf_counter() - self._since)
        self._training.telemetry.clock.step()  # an epoch counts as a step: a loop may have no others
        return position


def _check_names(scores: Iterable[str]) -> None:
    for name in scores:
        if name in _KEPT_BY_THE_JOB:
            raise UserError(
                f"epoch.report() has a score named {name}, a name that the job uses itself: choose another name; the"
                " job shows accuracy, val_accuracy and val_loss"
            )
