"""The evaluator: judges each new checkpoint by the held-out set, beside the training and never in its way.

    leader       save() ─▶ checkpoints ─▶ save() ─▶ ...           ─▶ result.json ─▶ clear()
    evaluator        after(0) ─▶ scores     after(49) ─▶ scores ...     └─▶ scores of the weights ─▶ exit code 0

It is in no cluster and takes part in no step: training neither waits for it nor fails with it. It only reads what the
leader stores; what it writes is a run of TensorBoard, called `eval`. A checkpoint that the leader deletes before it was
read is passed over, for then there are newer ones.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import qtj_contract as contract
from qtj_trainer.errors import StoppedError, TryAgainError, UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.artifacts import Address, Result, read_verified
from qtj_trainer.run.checkpoints import Checkpoint
from qtj_trainer.run.garbage import none_collected
from qtj_trainer.run.job import Run
from qtj_trainer.run.resources import check_memory
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.run.board import Board
    from qtj_trainer.run.loop import Loop

__all__ = ["check_evaluator", "evaluate"]

_LOOK = 1.0
"""Seconds between two looks at what the leader has stored."""

_PART = "eval"
"""As Estimators call it: the name that TensorBoard's users look for."""

_WAITING = "waiting for checkpoints"

log = logging.getLogger("qtj_trainer")


def check_evaluator(environment: Mapping[str, str], options: Options) -> None:
    """Checks that an evaluator, if this process is one, will have something to judge.

    Raises:
        UserError: If there will be no checkpoints.
    """
    if options.checkpoint_every or options.checkpoint_steps:
        return
    if Cluster.from_environment(environment, may_evaluate=True).evaluates:
        raise UserError(
            "an evaluator has no work where no checkpoints are made: set --checkpoint-every or --checkpoint-steps, or"
            " remove the role Evaluator"
        )


def evaluate(run: Run) -> Result:
    """Judges checkpoints until the job has its result, and then the weights of that.

    Raises:
        UserError: If the store refuses to read them.
        StoppedError: If it was told to end.
    """
    run = run.completed()
    check_memory(run.workload.memory(run.options))
    run.replica.serve(run.no_progress(), "loading TensorFlow")
    with none_collected():
        loop = _loop(run)

    from qtj_trainer.run.board import Board  # noqa: PLC0415  after TensorFlow was set up
    from qtj_trainer.run.undecodable import inputs_named  # noqa: PLC0415

    with Board(run.replica.store, run.replica.job_uid, parts=(_PART,)) as board, inputs_named(*loop.examples):
        return _Evaluator(run, loop, board).follow()


def _loop(run: Run) -> "Loop":
    from qtj_trainer.replicate.strategy import start_tensorflow  # noqa: PLC0415

    strategy, _ = start_tensorflow(Cluster.alone(), devices=run.options.devices)
    run.replica.telemetry.activity = "preparing"

    from qtj_trainer.run.synchronous import Synchronous  # noqa: PLC0415

    training, held_out = run.encoded(run.workload.split(run.options))
    return Synchronous(run.workload, run.options, strategy, training=training, held_out=held_out)


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """Follows one job to its result.

    Attributes:
        run: The run.
        loop: Holds the model; it takes no step.
        board: The curves.
    """

    run: Run
    loop: "Loop"
    board: "Board"

    def follow(self) -> Result:
        """Judges whatever is stored, until that is the result."""
        self.run.replica.telemetry.activity = _WAITING
        for found in self._news():
            self.run.replica.telemetry.activity = "evaluating"
            if isinstance(found, Result):
                with self.run.replica.stop.held_up():
                    self._judge_weights(found)
                return found
            self._judge_checkpoint(found)
            self.run.replica.telemetry.activity = _WAITING
        raise StoppedError("the evaluator was told to end")

    def _news(self) -> Iterator[Checkpoint | Result]:
        """Yields each new checkpoint, and the job's result last; ends without one when the process is told to end."""
        step = 0
        while True:
            told = self.run.replica.stop.is_told()
            if not told and (checkpoint := self._next(step)):
                step = checkpoint.position.step
                yield checkpoint
            elif result := self.run.replica.result_so_far():
                yield result
                return
            elif told:
                return
            else:
                self.run.replica.stop.wait(_LOOK)

    def _next(self, step: int) -> Checkpoint | None:
        try:
            return self.run.checkpoints.after(step)
        except TryAgainError as problem:
            log.warning("%s", problem)
            return None

    def _judge_checkpoint(self, checkpoint: Checkpoint) -> None:
        began = time.perf_counter()
        self.loop.restore(checkpoint.state)
        self._tell(checkpoint.position.step, checkpoint.position.epochs)
        self.run.replica.stop.expect(time.perf_counter() - began)

    def _judge_weights(self, result: Result) -> None:
        """Judges what was trained: the checkpoint of the last step was deleted when the result was there."""
        from qtj_trainer.weights import load_weights  # noqa: PLC0415

        data, model = read_verified(Address(result.weights.uri, result.weights.sha256)), self.loop.model
        load_weights(model, data, otherwise=f"the weights do not fit the model {model.name}")
        done = result.progress or contract.Progress(epoch=self.run.options.epochs)
        epoch = result.epoch or done.epoch
        step = epoch * self.loop.steps if result.epoch else done.step or 0
        said = contract.TerminationMessage(
            metrics=self._tell(step, epoch), progress=self.run.replica.telemetry.progress
        )
        self.run.replica.leave_message(said)

    def _tell(self, step: int, epoch: int) -> dict[str, float]:
        """Measures what the model holds, and tells it: in the log, at the progress endpoint, and in TensorBoard."""
        loss, scores = self.loop.validate()
        epochs, accuracy = self.run.options.epochs, self.run.workload.accuracy
        self.run.replica.telemetry.progress = contract.Progress(
            epoch=epoch,
            epochs=epochs,
            step=step,
            steps=self.loop.steps * epochs,
            validation_loss=loss,
            accuracy=scores[accuracy] if accuracy else None,
            checkpoint_step=step,
        )
        said = "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
        log.info("evaluated step %d, epoch %d/%d  loss %.4f  %s", step, epoch, epochs, loss, said)
        self.board.add(_PART, step, {"loss": loss, **scores})
        return scores
