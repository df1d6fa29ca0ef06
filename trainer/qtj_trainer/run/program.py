"""Bring your own program: what a training script needs to be a good citizen of a job, in five lines.

A loop of one's own, in any framework whose numbers are arrays (JAX, PyTorch, PennyLane, NumPy, TensorFlow):

program = Program(epochs=10)                             # SIGTERM, progress; a finished job ends here
state = program.state(params=params, optimizer=...)      # as the last checkpoint left them, or as given
for epoch in program.epochs():                           # those that are left; a checkpoint after each
    state.params, state.optimizer, loss = train(state.params, state.optimizer)
    epoch.report(loss=loss)                              # progress
program.finish(state.params, {"mse": mse})               # weights, their checksum, the result

A Keras model and its `fit`:

program = Program(epochs=10)                             # before TensorFlow, which starts threads
...                                                      # strategy, data, model.compile: as always
first = program.restore(model)                           # the last checkpoint, or 0
model.fit(data, epochs=10, initial_epoch=first, callbacks=[program.callback()])
program.finish(model, {"mse": mse})

The Job of `spec.inference` runs the same program once more, to judge the weights that are stored:

if program.inferring:
    params = program.load(params)                        # exactly those weights, or an error
    program.report({"mse": mse})                         # the end

Models are of Keras 2 (`tf_keras`, or `tf.keras` after the import of `qtj_trainer`), under any strategy that steps
together, or of Keras 3 (`keras`) in one process on one device. With several workers, each runs the same loop, and what
they exchange is the loop's own affair; the leader alone stores.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import qtj_contract as contract
from qtj_trainer.errors import UserError
from qtj_trainer.run.adapter import Adapter
from qtj_trainer.run.array_state import ArrayState
from qtj_trainer.run.artifacts import Result
from qtj_trainer.run.epochs import RunningEpoch, running_epochs
from qtj_trainer.run.keras_model import KerasModel, Model, is_keras_model
from qtj_trainer.run.metrics import numbers
from qtj_trainer.run.position import Epoch
from qtj_trainer.run.program_training import ProgramTraining, store_result
from qtj_trainer.run.session import Session
from qtj_trainer.run.telemetry import Telemetry
from qtj_trainer.run.tree import State
from qtj_trainer.tracer import serve_profiles
from qtj_trainer.workloads.options import Options

__all__ = ["Program"]

Thing = TypeVar("Thing")

_EVALUATES_NOT = (
    "this program does not evaluate the stored weights: ask program.inferring and call program.load(model), or remove"
    " spec.inference"
)

log = logging.getLogger("qtj_trainer")


class Program:
    """Checkpoints, termination, progress and weights for a program of one's own."""

    def __init__(
        self,
        epochs: int,
        *,
        checkpoint_every: int = 1,
        checkpoint_steps: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Takes up the job. To be made before TensorFlow or JAX is imported, which start threads.

        A job that has trained before ends here, with the same last word. Artifacts that the leader cannot write, or a
        profiler port that is taken, end the process with one sentence. With several workers, this waits until each of
        them has made its `Program`. Without a job all works as well, below qtj-artifacts/program.

        Args:
            epochs: Epochs that will be asked for.
            checkpoint_every: Epochs from one checkpoint to the next; 0 makes none by epoch.
            checkpoint_steps: Steps from one checkpoint to the next within `epoch.steps`; 0 makes none by step.
            environment: The environment; None for that of this process.
        """
        # No default of the signature: help() prints those, secrets and all.
        self._session = Session(os.environ if environment is None else environment)
        self._training: ProgramTraining | None = None
        self._model: Model = None
        """The model that was restored."""
        self._has_loaded = False
        self._has_loop = False
        with self._session.mistakes_reported():
            _check_arguments(epochs=epochs, checkpoint_every=checkpoint_every, checkpoint_steps=checkpoint_steps)
            self._options = Options(epochs=epochs, checkpoint_every=checkpoint_every, checkpoint_steps=checkpoint_steps)
            self._session.begin(epochs)

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which judges stored weights."""
        return self._session.inferring

    @property
    def telemetry(self) -> Telemetry:
        """What the progress endpoint says."""
        return self._session.replica.telemetry

    @property
    def last(self) -> Epoch | None:
        """The last finished epoch."""
        return self._training.last if self._training else None

    def load(self, weights: Thing) -> Thing:
        """Puts the weights of the job into what has their structure. For inference.

        Their checksum is checked where it is known, as it is of weights that `finish` has stored.

        Args:
            weights: Of the structure that was given to `finish`: arrays of the same names, shapes and types, or a
                model.

        Returns:
            What was given, where it can be changed; else its like. Arrays of JAX cannot.
        """
        with self._session.mistakes_reported():
            if not self.inferring:
                raise UserError("load() is for inference, and this is a training: ask program.inferring before it")
            uri, data = self._session.stored_weights()
            loaded: Thing = _adapted(weights).load(data, otherwise=f"the weights {uri} do not fit this program")
        self._has_loaded = True
        return loaded

    def report(self, metrics: Mapping[str, Any]) -> NoReturn:
        """Tells what inference came to, and ends the process.

        Args:
            metrics: Finite numbers by name; any other fails the inference.
        """
        with self._session.mistakes_reported():
            if not self.inferring:
                raise UserError("report() is for inference, and this is a training: end it with finish()")
            if not self._has_loaded:
                raise UserError(_EVALUATES_NOT)
            self._session.replica.leave_message(contract.TerminationMessage(metrics=numbers(metrics)))
        self._session.end()

    def state(self, **parts: Any) -> State:  # noqa: ANN401  arrays of any framework
        """Takes all that training changes, and puts the last checkpoint into it. Once, before `epochs`.

        What decides the numbers of the next step belongs here: weights, the optimizer's state, a random key or
        generator. Assign to it what a step returns; what is changed in place needs no assignment. Other names than
        these are refused.

        Args:
            parts: By name: arrays; numbers and texts; dicts, lists, tuples and pytrees of them; NumPy's generators;
                what has `state_dict` and `load_state_dict`; what has `variables`. An array keeps its shape and type,
                and stays finite if it is so now.

        Returns:
            The parts as its attributes.
        """
        state = State(**parts)
        if not self.inferring:
            with self._session.mistakes_reported():
                if self._training:
                    raise UserError("state() comes once, and before it no restore(model): give it all that is trained")
                if self._session.replica.cluster.is_coordinated:
                    raise UserError("a loop of one's own takes each step on all workers: use no parameter servers")
                adapter = ArrayState(state)
            self._training = ProgramTraining(self._session, adapter, self._options)
        return state

    def epochs(self) -> Iterator[RunningEpoch]:
        """Yields the epochs that are left. The end of the loop's body is the end of its epoch. Once.

        A loop may end early by `break`. Its last epoch counts as finished if it has reported, and is in no checkpoint:
        after a restart it is repeated. So what decides about the end belongs to the state.

        Told to end by SIGTERM, the process ends at the end of an epoch or of a step of `epoch.steps`, with a checkpoint
        after it, where the last one took less than ten seconds; else at once.
        """
        with self._session.mistakes_reported():
            if self.inferring:
                raise UserError(_EVALUATES_NOT)
            if self._training is None:
                raise UserError("epochs() comes before state(...): give that all that training changes")
            if self._has_loop:
                raise UserError(
                    "epochs() was called twice: a program has one loop over its epochs, so ask Program(epochs=...) for"
                    " all of them and look at epoch.number within it"
                )
        self._has_loop = True
        return running_epochs(self._training)

    def restore(self, model: Model) -> int:
        """Puts the last checkpoint into a compiled Keras model and its optimizer.

        Args:
            model: Built and compiled, within the scope of its strategy if it has one.

        Returns:
            Epochs that are done: `initial_epoch` for `fit`.
        """
        with self._session.mistakes_reported():
            if self.inferring:
                raise UserError(_EVALUATES_NOT)
            if self._options.checkpoint_steps:
                raise UserError(
                    "checkpoint_steps is for loops with epoch.steps(), and fit makes its checkpoints at the ends of"
                    " epochs: leave it out"
                )
            adapter = KerasModel(model)
            adapter.prepare(self._session.replica.cluster)
            serve_profiles(self._session.replica.profiler_port)
        self._model = model
        self._training = ProgramTraining(self._session, adapter, self._options)
        return self._training.start.epochs

    def callback(self) -> Any:  # noqa: ANN401  a callback of the model's Keras
        """Returns what tells progress and stores checkpoints while `fit` runs.

        `fit` goes through the epochs of the program, and no more. It may be called for one part of them after the
        other, each with the epochs that are done as `initial_epoch`.
        """
        from qtj_trainer.run.keras_callback import training_callback  # noqa: PLC0415

        with self._session.mistakes_reported():
            if self._training is None or self._model is None:
                raise UserError("callback() comes before restore(model): call restore once the model is compiled")
        return training_callback(self._training, self._model)

    def finish(self, weights: Any, metrics: Mapping[str, Any] | None = None) -> NoReturn:  # noqa: ANN401
        """Stores the weights and says so, and ends the process: the last line of a program.

        Weights that are not finite are not stored. A metric that is no finite number fails the job after the weights
        are stored.
        A program that has trained all its epochs and ends without it is warned: nothing of it is stored.

        Args:
            weights: What was trained: a Keras model, or arrays, as for `state`.
            metrics: Finite numbers by name.
        """
        if self.inferring:
            self.report(metrics or {})
        with self._session.mistakes_reported():
            adapter = _adapted(weights)
            adapter.check_finite(self.telemetry.progress.step or 0)
            replica = self._session.replica
            replica.finish(lambda: self._store(adapter, metrics or {}), lambda: adapter.farewell(replica.cluster))
        self._session.end()

    def _store(self, adapter: Adapter, metrics: Mapping[str, Any]) -> Result:
        """Stores weights and result, and deletes the checkpoints."""
        result = store_result(self._session.replica, adapter, metrics)
        if self._training:  # a program without checkpoints need not ask for one
            self._training.log_early_end()
            self._training.clear()
        return result


def _adapted(thing: Any) -> Adapter:  # noqa: ANN401  a model of any framework, or arrays
    return KerasModel(thing) if is_keras_model(thing) else ArrayState(thing)


def _check_arguments(**arguments: int) -> None:
    """Raises UserError unless arguments of `Program` are whole numbers within their bounds."""
    for name, value in arguments.items():
        if not isinstance(value, int):
            raise UserError(f"Program's argument {name} is {value!r}: it must be a whole number")
        if complaint := Options.complaint(name, value):
            raise UserError(f"Program's argument {name} {complaint}")
