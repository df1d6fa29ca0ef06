"""The evaluator: evaluates each new checkpoint on the held-out set, without any effect on the training.

    leader       save() ─▶ checkpoints ─▶ save() ─▶ ...           ─▶ result.json ─▶ clear()
    evaluator        after(0) ─▶ scores     after(49) ─▶ scores ...     └─▶ scores of the weights ─▶ exit code 0

It is in no cluster and takes part in no step: training neither waits for it nor fails with it. It only reads what the
leader stores, and only writes a run of TensorBoard with the name `eval`. A checkpoint that the leader deletes before it
is read is skipped, because there are newer ones then.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import qtj_contract as contract
from qtj_trainer.errors import StoppedError, TryAgainError, UserError
from qtj_trainer.replica.garbage import none_collected
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.training_run import Run, check_memory
from qtj_trainer.stored.artifacts import Address, Result, read_verified
from qtj_trainer.stored.checkpoints import Checkpoint
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.loop.loop import Loop
    from qtj_trainer.tensorboard.event_files import Board

__all__ = ["check_evaluator", "evaluate"]

_POLL = 1.0
"""Seconds between two searches for new checkpoints."""

_PART = "eval"
"""The name that TensorFlow's Estimators use, so that users of TensorBoard find it."""

_WAITING = "waiting for checkpoints"

log = logging.getLogger("qtj_trainer")


def check_evaluator(environment: Mapping[str, str], options: Options) -> None:
    """Checks that an evaluator, if this process is one, will have checkpoints to evaluate.

    Raises:
        UserError: If there will be no checkpoints.
    """
    if options.checkpoint_every or options.checkpoint_steps:
        return
    if Cluster.from_environment(environment, may_evaluate=True).evaluates:
        raise UserError(
            "an evaluator has no work if no checkpoints are stored: set --checkpoint-every or --checkpoint-steps, or"
            " remove the role Evaluator"
        )


def evaluate(run: Run) -> Result:
    """Evaluates checkpoints until the job has its result, and then the weights of the result.

    Raises:
        UserError: If the store refuses to read them.
        StoppedError: If SIGTERM has arrived.
    """
    run = run.completed()
    check_memory(run.workload.memory(run.options))
    run.replica.serve(run.initial_progress(), "loading TensorFlow")
    with none_collected():
        loop = _loop(run)

    from qtj_trainer.loop.batches import inputs_named
    from qtj_trainer.tensorboard.event_files import Board

    name = run_name(run.replica.environment)
    with Board(run.replica.store, name) as board, inputs_named(*loop.examples):
        return _Evaluator(run, loop, board).follow()


def _loop(run: Run) -> "Loop":
    from qtj_trainer.replicate.strategy import start_tensorflow

    strategy, _ = start_tensorflow(Cluster.alone(), devices=run.options.devices)
    run.replica.telemetry.activity = "preparing"

    from qtj_trainer.loop.synchronous import Synchronous
    from qtj_trainer.loop.task import Task

    return Synchronous(Task.of(run.workload, run.options), strategy)


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """Evaluates the checkpoints of one job until its result.

    Attributes:
        run: The run.
        loop: Holds the model; it takes no steps.
        board: The curves.
    """

    run: Run
    loop: "Loop"
    board: "Board"

    def follow(self) -> Result:
        """Evaluates each checkpoint that is stored, and the result last."""
        self.run.replica.telemetry.activity = _WAITING
        for stored in self._new_objects():
            self.run.replica.telemetry.activity = "evaluating"
            if isinstance(stored, Result):
                with self.run.replica.stop.deferred():
                    self._evaluate_weights(stored)
                return stored
            self._evaluate_checkpoint(stored)
            self.run.replica.telemetry.activity = _WAITING
        raise StoppedError("the evaluator was asked to end")

    def _new_objects(self) -> Iterator[Checkpoint | Result]:
        """Yields each new checkpoint, and the job's result last. On SIGTERM, it ends without a result."""
        step = 0
        while True:
            is_stopping = self.run.replica.stop.is_requested()
            if not is_stopping and (checkpoint := self._next(step)):
                step = checkpoint.position.step
                yield checkpoint
            elif result := self.run.replica.result_so_far(self.run.settings):
                yield result
                return
            elif is_stopping:
                return
            else:
                self.run.replica.stop.wait(_POLL)

    def _next(self, step: int) -> Checkpoint | None:
        try:
            return self.run.checkpoints.after(step)
        except TryAgainError as problem:
            log.warning("%s", problem)
            return None

    def _evaluate_checkpoint(self, checkpoint: Checkpoint) -> None:
        began = time.perf_counter()
        self.loop.restore(checkpoint.state)
        self._measure(checkpoint.position.step, checkpoint.position.epochs)
        self.run.replica.stop.expect(time.perf_counter() - began)

    def _evaluate_weights(self, result: Result) -> None:
        """Evaluates the trained weights: the checkpoint of the last step is deleted once the result is stored."""
        from qtj_trainer.weights import load_weights

        data, model = read_verified(Address(result.weights.uri, result.weights.sha256)), self.loop.model
        load_weights(model, data, otherwise=f"the weights do not fit the model {model.name}")
        done = result.progress or contract.Progress(epoch=self.run.options.epochs)
        epoch = result.epoch or done.epoch
        step = epoch * self.loop.steps if result.epoch else done.step or 0
        message = contract.TerminationMessage(
            metrics=self._measure(step, epoch), progress=self.run.replica.telemetry.progress
        )
        self.run.replica.write_message(message)

    def _measure(self, step: int, epoch: int) -> dict[str, float]:
        """Evaluates the model, and reports its scores: in the log, at the progress endpoint, and in TensorBoard."""
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
        text = "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
        log.info("evaluated step %d, epoch %d/%d  loss %.4f  %s", step, epoch, epochs, loss, text)
        self.board.add(_PART, step, {"loss": loss, **scores})
        return scores
