"""A program's process: it becomes a replica of its job, and reports each error in one sentence when it ends.

In a notebook, or in a module that another program imports, nothing of the process is changed: signals and errors are
handled as before, a mistake raises its error, and the end of the program is not that of the process.
"""

import io
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, TextIO

import qtj_contract as contract
from qtj_contract.predictions import Predictions
from qtj_trainer.errors import TrainerError
from qtj_trainer.program.folder_lock import release
from qtj_trainer.program.own_source import place_of, running_source
from qtj_trainer.program.running_code import owns_process
from qtj_trainer.program.source_record import SourceRecord
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop, exit_interrupted, exit_now
from qtj_trainer.replica.termination import report_error, report_inference, store_predictions
from qtj_trainer.storage import read_uri
from qtj_trainer.stored.artifacts import Address, read_verified
from qtj_trainer.stored.checkpoints import has_checkpoints
from qtj_trainer.stored.extension import RESUME, extension_of
from qtj_trainer.tracer import patch_tracer

__all__ = ["Session", "show_log"]

_INTERRUPTED = "interrupted: the same command continues from the last checkpoint"
_INTERRUPTED_UNKNOWN = f"interrupted: {RESUME}=1 and the same command continue from the last checkpoint"
_INTERRUPTED_EARLY = "interrupted before the first checkpoint: the same command starts over"

_FINDS_AGAIN = (contract.Env.ARTIFACTS_URI, contract.Env.JOB_UID, RESUME)
"""Variables with which the same command finds the same training, also if its text is not known."""

log = logging.getLogger("qtj_trainer")


class Session:
    """One process of a program, from its first line to its exit code.

    Attributes:
        replica: Its replica of the job; set by `begin`.
        record: The record of the program; set by `begin`.
    """

    replica: Replica
    record: SourceRecord

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._stop = Stop()
        self._owns_process = owns_process(environment)
        if self._owns_process:
            self._stop.listen()
        patch_tracer()

    def begin(self, epochs: int) -> None:
        """Joins the job, and serves progress from now on. If the job has its result, the process ends here.

        Raises:
            UserError: If the environment is invalid, or the artifacts cannot be written.
            TryAgainError: If the store does not answer, or a peer was lost before all had met.
        """
        is_script = self._owns_process and not self.inferring
        source = running_source() if is_script else None
        artifacts, note = place_of(self._environment, source)
        self._folder = Path(artifacts).absolute()  # the program may change its current folder
        self._is_found_again = source is not None or any(map(self._environment.get, _FINDS_AGAIN))
        self.replica = replica = Replica.join(self._environment, self._stop, artifacts)
        self.record = SourceRecord(replica.store, source, self._environment, is_script=is_script)
        if self._owns_process:
            sys.excepthook = self._end_with_error
        show_log(leads=replica.cluster.leads)
        if note:
            log.info("%s", note)
        if not self.inferring:
            if replica.finished(epochs=epochs):
                exit_now(0)
            replica.check()
            if replica.cluster.leads:
                self.record.begin()
        replica.serve(contract.Progress(epoch=0, epochs=epochs), "preparing")  # imports, data, the model
        if not self.inferring:
            replica.meet()

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which evaluates stored weights."""
        return bool(self._environment.get(contract.Env.WEIGHTS_URI))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the trial that this process is part of; empty outside of a study."""
        given = json.loads(self._environment.get(contract.Env.PARAMETERS) or "{}")
        return MappingProxyType(given)

    def stored_weights(self) -> tuple[str, bytes]:
        """Returns address and bytes of the weights to evaluate.

        Raises:
            UserError: If they do not exist, or their checksum is another one.
        """
        uri, sha256 = self._environment[contract.Env.WEIGHTS_URI], self._environment.get(contract.Env.WEIGHTS_SHA256)
        return uri, read_uri(uri) if sha256 is None else read_verified(Address(uri, sha256))

    def report(self, metrics: Mapping[str, float], predictions: Predictions | None) -> None:
        """Stores and reports the metrics of an inference, and stores its predictions before, for the report."""
        environment = self._environment
        weights = contract.Weights(
            uri=environment[contract.Env.WEIGHTS_URI], sha256=environment.get(contract.Env.WEIGHTS_SHA256, "")
        )
        if predictions:
            store_predictions(weights.uri, predictions)
        report_inference(environment, self.replica.store, weights, metrics)

    def end(self) -> None:
        """Ends the process with exit code 0, if it is the program's; else others may use its folder now."""
        if self._owns_process:
            sys.stdout.flush()  # without teardown, the program's last output would be lost
            exit_now(0)
        release(self._folder)

    @contextmanager
    def mistakes_reported(self) -> Iterator[None]:
        """Ends the process with one sentence for a `TrainerError` in the block, or raises it if the process goes on."""
        try:
            yield
        except TrainerError as problem:
            if not self._owns_process:
                raise
            self._fail(problem)

    def _end_with_error(
        self, kind: type[BaseException], problem: BaseException, traceback: TracebackType | None
    ) -> None:
        """Ends a program after an error that it has not caught. The loss of a peer asks for a retry."""
        if isinstance(sys.stderr, io.StringIO) and sys.__stderr__:  # PyTorch's own hook calls this one so
            sys.stderr = sys.__stderr__
        try:
            with self._peers_watched():
                raise problem  # noqa: TRY301  the context manager translates it
        except TrainerError as translated:
            self._fail(translated)
        except KeyboardInterrupt:
            self._end_interrupted()
        except BaseException:  # noqa: BLE001  as without this hook, but without teardown, which may wait for peers
            # The traceback above starts with this file, which does not help the program's author.
            sys.__excepthook__(kind, problem.with_traceback(traceback), traceback)
            sys.stderr.flush()
            self._leave(1)

    def _peers_watched(self) -> AbstractContextManager[None]:
        if "tensorflow" not in sys.modules:  # then it is no error of TensorFlow, whose import takes 7 seconds
            return nullcontext()
        from qtj_trainer.replicate.strategy import peers_watched

        return peers_watched(self.replica.cluster)

    def _fail(self, problem: TrainerError) -> NoReturn:
        report_error(self._environment, str(problem))
        self._leave(problem.exit_code)

    def _end_interrupted(self) -> NoReturn:
        """Ends a program after Ctrl-C, which is no mistake: a traceback would hide what to do next."""
        print(self._after_interruption(), file=sys.stderr, flush=True)  # noqa: T201  as `report_error`
        sys.stdout.flush()
        self._flush()
        exit_interrupted()

    def _after_interruption(self) -> str:
        """Returns what the same command would do. A program that is still loading has not read its checkpoint yet."""
        replica = self.replica
        is_kept = replica.telemetry.progress.checkpoint_step or has_checkpoints(
            replica.store, replica.job_uid, extension_of(self._environment)
        )
        if not is_kept:
            return _INTERRUPTED_EARLY
        return _INTERRUPTED if self._is_found_again else _INTERRUPTED_UNKNOWN

    def _leave(self, code: int) -> NoReturn:
        """Ends a process that has failed."""
        self._flush()
        exit_now(code)

    def _flush(self) -> None:
        """Sends the last epochs. The process may not have joined its job yet."""
        if replica := getattr(self, "replica", None):
            replica.tracked.flush()


class _Handler(logging.StreamHandler[TextIO]):
    """Tells our handler from the user's."""


def show_log(*, leads: bool) -> None:
    """Shows the log of this package on stderr, unless the program has set up logging, now or later.

    Args:
        leads: Whether this process leads. The others log only warnings and errors.
    """
    if any(isinstance(each, _Handler) for each in log.handlers):
        return  # of an earlier program of this process
    handler = _Handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda _: not logging.getLogger().handlers)  # otherwise a line would appear twice
    log.addHandler(handler)
    if not leads:
        log.setLevel(logging.WARNING)
    elif log.level == logging.NOTSET:
        log.setLevel(logging.INFO)
