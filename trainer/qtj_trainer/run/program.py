"""Bring your own program: what a Keras script needs to be a good citizen of a job, in five lines.

from qtj_trainer import Program                          # before TensorFlow

program = Program(epochs=10)                             # SIGTERM, progress; a finished job ends here
...                                                      # strategy, data, model.compile: as always
first = program.restore(model)                           # the last checkpoint, or 0
model.fit(data, epochs=10, initial_epoch=first, callbacks=[program.callback()])
program.finish(model, {"mse": mse})                      # weights, their checksum, the result

The Job of `spec.inference` runs the same program once more, to judge the weights that are stored:

if program.inferring:
    program.load(model)                                  # exactly those weights, or an error
    program.report({"mse": mse})                         # the end

Models are of Keras 2 (`tf_keras`, or `tf.keras` after the import of `qtj_trainer`), under any strategy that steps
together, or of Keras 3 (`keras`) in one process on one device.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn

from qtj_operator.api import contract
from qtj_trainer.errors import TrainerError, UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.artifacts import Address, Result, read_verified, store_object
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints, State
from qtj_trainer.run.diverged import check_number
from qtj_trainer.run.exported import store_circuits
from qtj_trainer.run.keras_model import (
    REMEDY,
    Model,
    Shapes,
    agree,
    check_arguments,
    check_finite,
    check_model,
    values,
    wait_for_all,
)
from qtj_trainer.run.metrics import numbers
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.run.progress_log import log_progress
from qtj_trainer.run.signals import Stop, leave
from qtj_trainer.run.telemetry import Telemetry, port_from
from qtj_trainer.run.termination import leave_message
from qtj_trainer.storage import open_store, read_uri
from qtj_trainer.tracer import mend_tracer, serve_profiles
from qtj_trainer.workloads.options import Options

__all__ = ["Program"]

_EVALUATES_NOT = (
    "this program does not evaluate the stored weights: ask program.inferring and call program.load(model), or remove"
    " spec.inference"
)


class Program:
    """Checkpoints, termination, progress and weights for a Keras program.

    Attributes:
        telemetry: What the progress endpoint says.
        stop: Ends the process when it is told to, but not within a checkpoint.
        last: The last finished epoch.
    """

    def __init__(self, epochs: int, *, checkpoint_every: int = 1, environment: Mapping[str, str] | None = None) -> None:
        """Takes up the job. To be made before TensorFlow is imported, which starts threads.

        A job that has trained before ends here, with the same last word. Without a job all works as well, below
        qtj-artifacts/program.

        Args:
            epochs: Epochs that will be asked for.
            checkpoint_every: Epochs from one checkpoint to the next; 0 makes none.
            environment: The environment; None for that of this process.
        """
        # No default of the signature: help() prints those, secrets and all.
        environment = os.environ if environment is None else environment
        self._environment = environment
        self._uid = environment.get(contract.Env.JOB_UID, "")
        self.stop = Stop()
        self.stop.listen()
        sys.excepthook = self._ended_by
        mend_tracer()
        self.last: Epoch | None = None
        self._model: Model = None
        """The model that was restored, or loaded."""
        with self._mistakes_told():
            check_arguments(epochs=epochs, checkpoint_every=checkpoint_every)
            self._options = Options(epochs=epochs, checkpoint_every=checkpoint_every)
            self._cluster = Cluster.from_environment(environment)
            self._store = open_store(environment.get(contract.Env.ARTIFACTS_URI) or "qtj-artifacts/program")
            self._end_if_finished()
            self.telemetry = Telemetry(contract.Progress(epoch=0, epochs=epochs, step=0), "running")
            port = port_from(environment, contract.Env.METRICS_PORT)
            if port is not None:
                self.telemetry.serve(port)

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which judges stored weights."""
        return bool(self._environment.get(contract.Env.WEIGHTS_URI))

    def load(self, model: Model) -> None:
        """Puts the weights of the job into a model. For inference.

        Their checksum is checked where it is known, as it is of weights that `finish` has stored.

        Args:
            model: Built, of the structure that was trained.
        """
        from qtj_trainer.weights import load_weights  # noqa: PLC0415

        with self._mistakes_told():
            if not self.inferring:
                raise UserError("load() is for inference, and this is a training: ask program.inferring before it")
            uri, sha256 = (
                self._environment[contract.Env.WEIGHTS_URI],
                self._environment.get(contract.Env.WEIGHTS_SHA256),
            )
            data = read_uri(uri) if sha256 is None else read_verified(Address(uri, sha256))
            load_weights(model, data, otherwise=f"the weights {uri} do not fit this model")
        self._model = model

    def report(self, metrics: Mapping[str, Any]) -> NoReturn:
        """Tells what inference came to, and ends the process.

        Args:
            metrics: Finite numbers by name; any other fails the inference.
        """
        with self._mistakes_told():
            if not self.inferring:
                raise UserError("report() is for inference, and this is a training: end it with finish(model, metrics)")
            if self._model is None:
                raise UserError(_EVALUATES_NOT)
            leave_message(self._environment, contract.TerminationMessage(metrics=numbers(metrics)))
        _end()

    def restore(self, model: Model) -> int:
        """Puts the last checkpoint into a compiled model and its optimizer.

        Args:
            model: Built and compiled, within the scope of its strategy if it has one.

        Returns:
            Epochs that are done: `initial_epoch` for `fit`.
        """
        with self._mistakes_told():
            if self.inferring:
                raise UserError(_EVALUATES_NOT)
            check_model(model, self._cluster)
            serve_profiles(port_from(self._environment, contract.Env.PROFILER_PORT))
        self._model = model
        model.optimizer.build(model.trainable_variables)
        self._variables = [*model.variables, *model.optimizer.variables]
        self._checkpoints = Checkpoints(self._store, self._uid, Shapes(model), self._options)
        with self._mistakes_told():
            checkpoint = self._checkpoints.newest()
            agree(checkpoint.position.step if checkpoint else 0, model)
        return self._put_back(checkpoint) if checkpoint else 0

    def _put_back(self, checkpoint: Checkpoint) -> int:
        for variable, value in zip(self._variables, checkpoint.state, strict=True):
            variable.assign(value)
        self.last = checkpoint.position.last
        self._tell_checkpoint()
        return checkpoint.position.epochs

    def callback(self) -> Any:  # noqa: ANN401  a callback of the model's Keras
        """Returns what tells progress and stores checkpoints while `fit` runs."""
        from qtj_trainer.run.keras_callback import program_callback  # noqa: PLC0415

        with self._mistakes_told():
            if self._model is None:
                raise UserError("callback() comes before restore(model): call restore once the model is compiled")
        return program_callback(self, self._model)

    def finish(self, model: Model, metrics: Mapping[str, Any] | None = None) -> NoReturn:
        """Stores the weights and says so, and ends the process: the last line of a program.

        Weights that are not finite are not stored. A metric that is none fails the job after the weights are stored.

        Args:
            model: The trained model.
            metrics: Finite numbers by name.
        """
        if self.inferring:
            self.report(metrics or {})
        with self._mistakes_told():
            check_finite(model, self.telemetry.progress.step or 0)
            self.telemetry.activity = "storing"
            if self._cluster.leads:
                with self.stop.held_up():
                    self._store_result(model, metrics or {})
            wait_for_all(model, self._cluster)
        _end()

    def _store_result(self, model: Model, metrics: Mapping[str, Any]) -> None:
        from qtj_trainer.weights import dump_weights  # noqa: PLC0415

        name, weights = store_object(self._store, "weights", "h5", dump_weights(model))
        store_circuits(self._store, name, model)
        result = Result(
            job_uid=self._uid,
            weights=contract.Weights(uri=weights.uri, sha256=weights.sha256),
            metrics=numbers(metrics),  # after the weights: a mistake here must not cost them
            progress=self.telemetry.progress,
        )
        result.store(self._store)
        if self._model is not None:  # a program without checkpoints need not ask for one
            self._checkpoints.clear()
        leave_message(self._environment, result.message())

    def checked(self, loss: float, step: int) -> None:
        """Ends the process if a loss is not finite. Called by the callback."""
        with self._mistakes_told():
            check_number("loss", loss, step, REMEDY)

    def ended_epoch(self, epoch: Epoch) -> None:
        """Tells and stores an epoch. Called by the callback."""
        with self._mistakes_told():
            check_finite(self._model, epoch.step)
        self.last = epoch
        accuracy = epoch.scores.get("val_accuracy", epoch.scores.get("accuracy"))
        self.telemetry.progress = contract.Progress(
            epoch=epoch.number,
            epochs=self._options.epochs,
            step=epoch.step,
            steps=self.telemetry.progress.steps,
            loss=epoch.loss,
            accuracy=accuracy,
            checkpoint_step=self.telemetry.progress.checkpoint_step,
        )
        if not self._cluster.leads:
            return
        log_progress(self._environment, self.telemetry.progress)
        position = Position(epoch.step, epoch)
        if not self._checkpoints.is_due(position):
            return
        with self._mistakes_told(), self.stop.held_up():
            self._checkpoints.save(position, self._state())
            self._tell_checkpoint()

    def _tell_checkpoint(self) -> None:
        self.telemetry.progress = replace(self.telemetry.progress, checkpoint_step=self._checkpoints.step)

    def _state(self) -> State:
        return values(self._model, self._variables)

    def _end_if_finished(self) -> None:
        if self.inferring:
            return
        result = Result.of_job(self._store, self._uid)
        if result:
            if self._cluster.leads:
                leave_message(self._environment, result.message())
            leave(0)

    def _ended_by(self, kind: type[BaseException], problem: BaseException, traceback: TracebackType | None) -> None:
        """Ends a program that nobody has caught the error of: with a retry where it is a peer that has gone."""
        from qtj_trainer.replicate.strategy import peers_watched  # noqa: PLC0415

        try:
            with peers_watched(self._cluster):
                raise problem  # noqa: TRY301  the context manager translates it
        except TrainerError as known:
            self._fail(known)
        except BaseException:  # noqa: BLE001  as without this hook, but for the teardown, which may wait for peers
            sys.__excepthook__(kind, problem, traceback)
            sys.stderr.flush()
            leave(1)

    @contextmanager
    def _mistakes_told(self) -> Iterator[None]:
        """Ends the process with the sentence of an error of ours."""
        try:
            yield
        except TrainerError as problem:
            self._fail(problem)

    def _fail(self, problem: TrainerError) -> NoReturn:
        print(f"error: {problem}", file=sys.stderr, flush=True)  # noqa: T201  the program's last word
        leave_message(self._environment, contract.TerminationMessage(error=str(problem)))
        leave(problem.exit_code)


def _end() -> NoReturn:
    sys.stdout.flush()  # what the program has printed, which the end without teardown would lose
    leave(0)
