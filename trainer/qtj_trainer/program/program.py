"""Bring your own program: what a training script needs to work as part of a job, in five lines.

A custom training loop, in any framework with arrays (JAX, PyTorch, PennyLane, NumPy, TensorFlow):

program = Program(epochs=10)                             # SIGTERM, progress; a finished job ends here
state = program.state(params=params, optimizer=...)      # from the last checkpoint, or as given
for epoch in program.epochs():                           # the remaining epochs; a checkpoint after each
    state.params, state.optimizer, loss = train(state.params, state.optimizer)
    epoch.report(loss=loss)                              # progress
program.finish(state.params, {"mse": mse})               # weights, their checksum, the result

A Keras model and its `fit`:

program = Program(epochs=10)                             # before TensorFlow, which starts threads
...                                                      # strategy, data, model.compile: as usual
first = program.restore(model)                           # epochs in the last checkpoint, or 0
model.fit(data, epochs=10, initial_epoch=first, callbacks=[program.callback()])
program.finish(model, {"mse": mse})

The Job of `spec.inference` runs the same program again, to evaluate the stored weights:

if program.inferring:
    params = program.load(params)                        # exactly those weights, or an error
    program.report({"mse": mse})                         # the end

Models are of Keras 2 (`tf_keras`, or `tf.keras` after the import of `qtj_trainer`), under any synchronous strategy, or
of Keras 3 (`keras`) in one process on one device. With several workers, each runs the same loop, and the loop exchanges
gradients itself. Only the leader stores.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeVar

from qtj_trainer.arrays.metrics import numbers
from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import UserError
from qtj_trainer.program.adapter import Adapter
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.program.epochs import RunningEpoch, running_epochs
from qtj_trainer.program.keras_model import KerasModel, Model, check_backend, is_keras_model
from qtj_trainer.program.predictions import predictions_from
from qtj_trainer.program.program_training import ProgramTraining, store_result
from qtj_trainer.program.session import Session
from qtj_trainer.replica.telemetry import Telemetry
from qtj_trainer.stored.artifacts import Result
from qtj_trainer.stored.position import Epoch
from qtj_trainer.tracer import serve_profiles
from qtj_trainer.workloads.options import Options

__all__ = ["Program"]

Thing = TypeVar("Thing")

_NOT_EVALUATED = (
    "this program does not evaluate the stored weights: check program.inferring and call program.load(model), or remove"
    " spec.inference"
)

log = logging.getLogger("qtj_trainer")


class Program:
    """Checkpoints, termination, progress and weights for your own program."""

    def __init__(
        self,
        epochs: int,
        *,
        checkpoint_every: int = 1,
        checkpoint_steps: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Joins the job. Create it before you import TensorFlow or JAX, which start threads.

        If the job has its result already, the process ends here with the same termination message. Artifacts that the
        leader cannot write, or a profiler port that is in use, end the process with one sentence. In a notebook, or in
        a module that another program imports, such mistakes raise `qtj_trainer.errors.UserError` instead, and signals
        are handled as before. With several workers,
        this waits until each of them has created its `Program`. It also works without a job, and then stores below
        qtj-artifacts/program.

        Args:
            epochs: Epochs of the whole training.
            checkpoint_every: Epochs from one checkpoint to the next; 0 stores none after epochs.
            checkpoint_steps: Steps from one checkpoint to the next within `epoch.steps` or `fit`; 0 stores none after
                steps. A `fit` that cannot be continued within an epoch says so, and stores none after steps.
            environment: The environment; None for that of this process.
        """
        # The signature has no default, because help() prints defaults, and the environment may have secrets.
        self._session = Session(os.environ if environment is None else environment)
        self._training: ProgramTraining | None = None
        self._model: KerasModel | None = None
        """The model that was restored."""
        self._has_loaded = False
        self._has_loop = False
        with self._session.mistakes_reported():
            _check_arguments(epochs=epochs, checkpoint_every=checkpoint_every, checkpoint_steps=checkpoint_steps)
            self._options = Options(
                epochs=int(epochs), checkpoint_every=int(checkpoint_every), checkpoint_steps=int(checkpoint_steps)
            )
            self._session.begin(self._options.epochs)

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which evaluates stored weights."""
        return self._session.inferring

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What a study tries this program with, by name, and its `seed`; empty outside of a study."""
        return self._session.parameters

    @property
    def telemetry(self) -> Telemetry:
        """The answer of the progress endpoint."""
        return self._session.replica.telemetry

    @property
    def last(self) -> Epoch | None:
        """The last finished epoch."""
        return self._training.last if self._training else None

    def load(self, weights: Thing) -> Thing:
        """Loads the weights of the job into arrays or a model. For inference.

        The checksum of weights that `finish` has stored is checked. Other weights may have none.

        Args:
            weights: Arrays of the same names, shapes and types as those given to `finish`, or a model like that one.

        Returns:
            The same object if it can be changed in place; otherwise a new one like it, as for arrays of JAX.
        """
        with self._session.mistakes_reported():
            if not self.inferring:
                raise UserError("load() is for inference, and this is a training: check program.inferring before it")
            uri, data = self._session.stored_weights()
            loaded: Thing = _adapted(weights).load(data, otherwise=f"the weights {uri} do not fit this program")
        self._has_loaded = True
        return loaded

    def report(
        self,
        metrics: Mapping[str, Any],
        *,
        predictions: Any = None,
        labels: Any = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        """Reports the metrics of the inference, and ends the process if it is the program's; see `finish`.

        With predictions, the report of the job has a confusion matrix, or the errors of a regression.

        Args:
            metrics: Finite numbers by name; any other value fails the inference.
            predictions: Of shape `(examples, classes)`: a score of each class, of which the highest counts. Of shape
                `(examples,)`: numbers or names of classes, or values of a regression, which has no `classes`.
            labels: Of shape `(examples,)`: numbers or names of classes, or the true values.
            classes: Names of the classes, by number.
        """
        with self._session.mistakes_reported():
            if not self.inferring:
                raise UserError("report() is for inference, and this is a training: end it with finish()")
            if not self._has_loaded:
                raise UserError(_NOT_EVALUATED)
            given = predictions is not None or labels is not None or classes is not None
            judged = predictions_from(predictions, labels, classes) if given else None
            self._session.report(numbers(metrics), judged)
        self._session.end()

    def state(self, **parts: Any) -> State:
        """Takes everything that training changes, and loads the last checkpoint into it. Once, before `epochs`.

        Give all that affects the next step: weights, the optimizer's state, a random key or generator. Assign what a
        step returns to the attributes of the state. A part that is changed in place needs no assignment. Assignments to
        other names are refused.

        Args:
            parts: By name: arrays; numbers and strings; dicts, lists, tuples and pytrees of them; NumPy's generators;
                objects with `state_dict` and `load_state_dict`; objects with `variables`. The shape and type of an
                array cannot change, and an array that is finite now must stay finite.

        Returns:
            An object with the parts as attributes.
        """
        state = State(**parts)
        if not self.inferring:
            with self._session.mistakes_reported():
                if self._training:
                    raise UserError(
                        "state() can be called once, and not after restore(model): give it all that is trained"
                    )
                if self._session.replica.cluster.is_coordinated:
                    raise UserError(
                        "a custom training loop takes each step on all workers: remove the parameter servers"
                    )
                adapter = ArrayState(state)
            self._training = ProgramTraining(self._session, adapter, self._options)
        return state

    def epochs(self) -> Iterator[RunningEpoch]:
        """Yields the remaining epochs. An epoch ends with the body of the loop. Call this once.

        A loop may end early with `break`. Its last epoch counts as finished if it was reported, but no checkpoint holds
        it: a restart repeats it. So put everything that decides about the end into the state.

        On SIGTERM, the process ends after the current epoch, or after the current step of `epoch.steps`, and stores a
        checkpoint then. If the previous one took more than ten seconds, the process ends at once.
        """
        with self._session.mistakes_reported():
            if self.inferring:
                raise UserError(_NOT_EVALUATED)
            if self._training is None:
                raise UserError(
                    "epochs() was called before state(...): give state(...) all that training changes first"
                )
            if self._has_loop:
                raise UserError(
                    "epochs() was called twice: a program has one loop over its epochs, so give Program(epochs=...) the"
                    " number of all of them and use epoch.number in the loop"
                )
        self._has_loop = True
        return running_epochs(self._training)

    def restore(self, model: Model) -> int:
        """Loads the last checkpoint into a compiled Keras model and its optimizer.

        Args:
            model: A built and compiled model; if it has a strategy, created in its scope.

        Returns:
            Number of finished epochs: the `initial_epoch` for `fit`.
        """
        with self._session.mistakes_reported():
            if self.inferring:
                raise UserError(_NOT_EVALUATED)
            if self._training:
                raise UserError("restore(model) can be called once, and not after state(): give one of them all of it")
            adapter = KerasModel(model)
            adapter.prepare(self._session.replica.cluster)
            serve_profiles(self._session.replica.profiler_port)
        self._model = adapter
        self._training = ProgramTraining(self._session, adapter, self._options)
        return self._training.start.epochs

    def callback(self) -> Any:
        """Returns a callback that reports progress and stores checkpoints while `fit` runs.

        `fit` may not have more epochs than the program. It may be called several times, for one part of the epochs
        after the other, each time with the number of finished epochs as `initial_epoch`.
        """
        from qtj_trainer.program.keras_callback import training_callback

        with self._session.mistakes_reported():
            if self._training is None or self._model is None:
                raise UserError(
                    "callback() was called before restore(model): call restore(model) once the model is compiled"
                )
        return training_callback(self._training, self._model)

    def finish(self, weights: Any, metrics: Mapping[str, Any] | None = None) -> None:
        """Stores weights and result, and ends the process: the last line of a program.

        It returns in a notebook, and in a module that another program has imported: their process goes on.

        Weights that are not finite are not stored. A metric that is not a finite number fails the job after the weights
        are stored. If a program trains all its epochs and does not call this, a warning says that it has stored no
        weights.

        Args:
            weights: The trained weights: a Keras model, or arrays as for `state`.
            metrics: Finite numbers by name.
        """
        if self.inferring:
            return self.report(metrics or {})
        with self._session.mistakes_reported():
            adapter = _adapted(weights)
            adapter.check_finite(self.telemetry.progress.step or 0)
            replica = self._session.replica
            if self._training:
                self._training.captures.close()
            data = adapter.dump()  # in all replicas: some variables are read by all of them together
            replica.finish(
                lambda: self._store(adapter, data, metrics or {}), lambda: adapter.leave_together(replica.cluster)
            )
        if self._training:
            self._training.close()
        return self._session.end()

    def _store(self, adapter: Adapter, data: bytes, metrics: Mapping[str, Any]) -> Result:
        """Stores weights and result, and deletes the checkpoints."""
        record = self._session.record
        record.add_imports()
        warnings = (self._training.warning if self._training else "", record.warning)
        warning = "; ".join(filter(None, warnings))
        result = store_result(self._session.replica, adapter, data, metrics, warning)
        if self._training:  # a program without checkpoints need not ask for one
            self._training.log_early_end()
            self._training.clear()
        return result


def _adapted(thing: Any) -> Adapter:
    if not is_keras_model(thing):
        return ArrayState(thing)
    check_backend(thing)
    return KerasModel(thing)


def _check_arguments(**arguments: object) -> None:
    """Raises UserError unless arguments of `Program` are whole numbers within their bounds."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise UserError(f"Program's argument {name} is {value!r}: it must be a whole number")
        if problem_with := Options.problem_with(name, int(value)):
            raise UserError(f"Program's argument {name} {problem_with}")
