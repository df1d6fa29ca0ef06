"""One training run: workload, options and replica; the steps of its loop; each epoch in the log and in TensorBoard."""

import hashlib
import json
import logging
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import qtj_contract as contract
from qtj_contract.control_groups import memory_limit
from qtj_contract.memory import ReplicaMemory
from qtj_contract.quantities import in_words
from qtj_trainer.errors import UserError
from qtj_trainer.loop.stopping import has_stopped
from qtj_trainer.replica.captures import Captures, planned_captures
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.tracked import About
from qtj_trainer.replica.training import Shown, Training
from qtj_trainer.replicate.rendezvous import Terms
from qtj_trainer.stored.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.stored.extension import extension_of
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.stored.progress_log import held_out_line
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.workloads import Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.loop.loop import Loop
    from qtj_trainer.tensorboard.event_files import Board
    from qtj_trainer.tensorboard.model_summary import ModelSummary

__all__ = ["Run", "WorkloadTraining", "check_memory"]

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True)
class Run:
    """Everything that is given before a run starts."""

    workload: Workload
    options: Options
    replica: Replica

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Its checkpoints."""
        replica = self.replica
        extension = extension_of(replica.environment)
        return Checkpoints(replica.store, replica.job_uid, self.workload, self.options, extension=extension)

    def completed(self) -> Self:
        """Returns the run with the options that the data decides."""
        return replace(self, options=self.options.completed())

    def terms(self) -> Terms:
        """Returns what must be equal in all workers: everything that affects the numbers, and when training ends."""
        options = {"epochs": self.options.epochs, **self.options.affecting_numbers()}
        named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
        return {"workload": self.workload.name, **named, "model": self.workload.fingerprint(self.options)}

    @property
    def settings(self) -> str:
        """Digest of the options and the data that decide the result, without the model, whose digest takes seconds."""
        decisive = [self.workload.name, self.options.epochs, self.options.affecting_numbers()]
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def known_settings(self) -> str:
        """Returns the settings with those that the data decides; empty if the data cannot be read.

        A job that has its result does not need the data any more.
        """
        with suppress(UserError):
            return self.completed().settings
        return ""

    def initial_progress(self) -> contract.Progress:
        """Returns the progress before the first step."""
        return contract.Progress(epoch=0, epochs=self.options.epochs, step=0)


def check_memory(needed: ReplicaMemory | None) -> None:
    """Logs how much memory the circuits need, and checks that the container has it.

    Args:
        needed: Memory that this replica needs; None checks nothing.

    Raises:
        UserError: If it is more than the container or the machine has.
    """
    if needed is None:
        return
    available = memory_limit()
    sizes = (
        f"{in_words(needed.least)} of memory ({in_words(needed.program)} for the program, {in_words(needed.states)} for"
        f" statevectors), and {in_words(available)} are available"
    )
    if needed.least > available:
        raise UserError(
            f"this training needs at least {sizes}: raise resources.limits.memory or lower --qubits, --filters or"
            " --batch-size"
        )
    more = f"; it uses up to {in_words(needed.most)} if they are available" if needed.keepable else ""
    log.info("this training needs at least %s%s", sizes, more)


class WorkloadTraining(Training):
    """The training of a workload, which is the same in all processes."""

    are_alike = True
    _loop: "Loop"
    _board: "Board | None"

    def __init__(self, run: Run) -> None:
        super().__init__(run.replica, run.checkpoints, run.options.epochs)
        self._run = run
        self._captures = planned_captures(run.replica)

    def complete(self, loop: "Loop", checkpoint: Checkpoint | None) -> Position:
        """Trains from a checkpoint, if there is one, to the end. Returns the last position."""
        self._loop = loop
        loop.clock = self.telemetry.clock
        self.expect_steps(loop.steps * self.epochs, loop.devices)
        start = self.begin(loop, checkpoint)
        self.telemetry.activity = "compiling"  # which the first step does
        began = time.perf_counter()
        with self._opened_board() if self.replica.cluster.leads else nullcontext() as self._board:
            try:
                end = self._take_steps(start)
                self._introduce(start)
            except BaseException:
                self.replica.tracked.flush()
                raise
            finally:
                self.flush()  # also of a training that fails, whose epochs its user looks for
        if end.best and has_stopped(end, self._run.options):
            message = "stopped early: the loss on the held-out set was lowest after epoch %d, %d epochs ago"
            log.info(message, end.best.number, end.epochs - end.best.number)
        log.info("trained %d steps in %.1f s", end.step - start.step, time.perf_counter() - began)
        return end

    def shown(self, epoch: Epoch) -> Shown:
        """Returns the accuracy on held-out and training set, as the workload defines it, and the held-out loss."""
        accuracy = self._run.workload.accuracy
        training = {name: value for name, value in epoch.training_scores.items() if name != accuracy}
        held_out = {f"val_{name}": value for name, value in epoch.scores.items() if name != accuracy}
        others = {**training, **held_out}
        if accuracy is None:
            return Shown(None, None, epoch.validation_loss, others, next(iter(held_out), None))
        known = epoch.training_scores.get(accuracy)
        return Shown(epoch.scores[accuracy], known, epoch.validation_loss, others, "val_accuracy")

    def about(self) -> About:
        """Returns the options of the workload, with those that its data decide."""
        run = self._run
        options = asdict(run.workload.as_run(run.options, self._loop.model))
        return About(run.workload.name, {"workload": run.workload.name, **options})

    def end_epoch(self, position: Position) -> None:
        """Reports an epoch."""
        assert position.last
        self.report_epoch(position, held_out_line(position.last, self.epochs))
        if self._board:
            self._board.show(position.last, self._loop.readouts, self._loop.weights())

    def _take_steps(self, start: Position) -> Position:
        position, before = start, time.perf_counter()
        with Captures(self.replica, self._captures, start) as captures:
            captures.reach(start.step, start.epochs)
            for position in self._loop.positions(start, lambda step: captures.need(step) or self._needs_state(step)):
                seconds = time.perf_counter() - before
                self.show(position)
                self._introduce(start)
                self._show_step(position.step)
                settled = self._loop.is_settled
                self.reach(position, seconds, settled=settled)
                captures.reach(position.step, position.epochs, settled=settled)
                before = time.perf_counter()
        return position

    def _needs_state(self, step: int) -> bool:
        """Returns whether the state is needed after a step."""
        return self.replica.stop.is_requested() or self._checkpoints.is_due_by_step(step)

    def _show_step(self, step: int) -> None:
        """Draws a step, if `--log-every` asks for it."""
        every = self._run.options.log_every
        if self._board and every and step % every == 0:
            self._board.show_step(step, self._loop.measured(), self._loop.learning_rate_of(step))

    def _opened_board(self) -> "Board":
        from qtj_trainer.tensorboard.event_files import Board

        return Board(self.replica.store, run_name(self.replica.environment), self.replica.attempt)

    def _introduce(self, start: Position) -> None:
        """Shows in TensorBoard what is trained. Only the first call does: it takes as long as the first step."""
        if self._board and not self._board.has_summary:
            with self._loop.stopwatch.paused(), self.telemetry.clock.paused():
                self._board.describe(self._summary(), start.step)

    def _summary(self) -> "ModelSummary":
        from qtj_trainer.tensorboard.model_summary import ModelSummary

        run, loop = self._run, self._loop
        options = run.workload.as_run(run.options, loop.model)
        about = {"workload": run.workload.name, "processes": self.replica.cluster.size, "devices": loop.devices}
        return ModelSummary(asdict(options) | about, loop.model, run.workload.drawing(run.options))
