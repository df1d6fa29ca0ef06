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
from collections.abc import Mapping
from typing import Any, NoReturn

from qtj_operator.api import contract
from qtj_trainer.errors import UserError
from qtj_trainer.run.keras_model import KerasModel, Model
from qtj_trainer.run.metrics import numbers
from qtj_trainer.run.position import Epoch
from qtj_trainer.run.session import Session
from qtj_trainer.run.telemetry import Telemetry, port_from
from qtj_trainer.run.training import Training, store_result
from qtj_trainer.workloads.options import Options

__all__ = ["Program"]

_EVALUATES_NOT = (
    "this program does not evaluate the stored weights: ask program.inferring and call program.load(model), or remove"
    " spec.inference"
)


class Program:
    """Checkpoints, termination, progress and weights for a program of one's own."""

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
        self._session = Session(os.environ if environment is None else environment)
        self._training: Training | None = None
        self._model: Model = None
        """The model that was restored."""
        self._has_loaded = False
        with self._session.mistakes_told():
            _check_arguments(epochs=epochs, checkpoint_every=checkpoint_every)
            self._options = Options(epochs=epochs, checkpoint_every=checkpoint_every)
            self._session.begin(epochs)

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which judges stored weights."""
        return self._session.inferring

    @property
    def telemetry(self) -> Telemetry:
        """What the progress endpoint says."""
        return self._session.telemetry

    @property
    def last(self) -> Epoch | None:
        """The last finished epoch."""
        return self._training.last if self._training else None

    def load(self, model: Model) -> Model:
        """Puts the weights of the job into a model. For inference.

        Their checksum is checked where it is known, as it is of weights that `finish` has stored.

        Args:
            model: Built, of the structure that was trained.

        Returns:
            The model.
        """
        with self._session.mistakes_told():
            if not self.inferring:
                raise UserError("load() is for inference, and this is a training: ask program.inferring before it")
            uri, data = self._session.stored_weights()
            loaded = KerasModel(model).load(data, otherwise=f"the weights {uri} do not fit this model")
        self._has_loaded = True
        return loaded

    def report(self, metrics: Mapping[str, Any]) -> NoReturn:
        """Tells what inference came to, and ends the process.

        Args:
            metrics: Finite numbers by name; any other fails the inference.
        """
        with self._session.mistakes_told():
            if not self.inferring:
                raise UserError("report() is for inference, and this is a training: end it with finish(model, metrics)")
            if not self._has_loaded:
                raise UserError(_EVALUATES_NOT)
            self._session.say(contract.TerminationMessage(metrics=numbers(metrics)))
        self._session.end()

    def restore(self, model: Model) -> int:
        """Puts the last checkpoint into a compiled model and its optimizer.

        Args:
            model: Built and compiled, within the scope of its strategy if it has one.

        Returns:
            Epochs that are done: `initial_epoch` for `fit`.
        """
        with self._session.mistakes_told():
            if self.inferring:
                raise UserError(_EVALUATES_NOT)
            adapter = KerasModel(model)
            adapter.prepare(self._session.cluster)
            self._serve_profiles()
        self._model = model
        self._training = Training(self._session, adapter, self._options)
        return self._training.resume().epochs

    def callback(self) -> Any:  # noqa: ANN401  a callback of the model's Keras
        """Returns what tells progress and stores checkpoints while `fit` runs."""
        from qtj_trainer.run.keras_callback import training_callback  # noqa: PLC0415

        with self._session.mistakes_told():
            if self._training is None:
                raise UserError("callback() comes before restore(model): call restore once the model is compiled")
        return training_callback(self._training, self._model)

    def finish(self, model: Model, metrics: Mapping[str, Any] | None = None) -> NoReturn:
        """Stores the weights and says so, and ends the process: the last line of a program.

        Weights that are not finite are not stored. A metric that is none fails the job after the weights are stored.

        Args:
            model: The trained model.
            metrics: Finite numbers by name.
        """
        if self.inferring:
            self.report(metrics or {})
        with self._session.mistakes_told():
            adapter = KerasModel(model)
            adapter.check_finite(self.telemetry.progress.step or 0)
            self.telemetry.activity = "storing"
            if self._session.cluster.leads:
                with self._session.stop.held_up():
                    result = store_result(self._session, adapter, metrics or {})
                    if self._training:  # a program without checkpoints need not ask for one
                        self._training.clear()
                    self._session.say(result.message())
            adapter.farewell(self._session.cluster)
        self._session.end()

    def _serve_profiles(self) -> None:
        import tensorflow as tf  # noqa: PLC0415

        port = port_from(self._session.environment, contract.Env.PROFILER_PORT)
        if port:
            tf.profiler.experimental.server.start(port)


def _check_arguments(**arguments: int) -> None:
    """Raises UserError unless arguments of `Program` are whole numbers within their bounds."""
    for name, value in arguments.items():
        if not isinstance(value, int):
            raise UserError(f"Program's argument {name} is {value!r}: it must be a whole number")
        if complaint := Options.complaint(name, value):
            raise UserError(f"Program's argument {name} {complaint}")
