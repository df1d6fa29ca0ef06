"""A program's process as a part of its job: where it stores, how it is told to end, and its last word."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import NoReturn

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.artifacts import Address, Result, read_verified
from qtj_trainer.run.checkpoints import clear_checkpoints
from qtj_trainer.run.program_log import show_log
from qtj_trainer.run.signals import Stop, leave
from qtj_trainer.run.telemetry import Telemetry, port_from
from qtj_trainer.run.termination import leave_message
from qtj_trainer.storage import open_store, read_uri
from qtj_trainer.tracer import mend_tracer

__all__ = ["Session"]


class Session:
    """One process of a job, from its first line to its exit code.

    Attributes:
        environment: Its environment.
        uid: The uid of its job; empty without one.
        stop: Ends the process when it is told to, but not within a checkpoint.
        cluster: The processes that train together.
        store: The artifacts.
        telemetry: What the progress endpoint says.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.uid = environment.get(contract.Env.JOB_UID, "")
        self.cluster = Cluster.alone()
        self.stop = Stop()
        self.stop.listen()
        sys.excepthook = self._ended_by
        mend_tracer()

    def begin(self, epochs: int) -> None:
        """Finds cluster and artifacts, and tells progress from now on. A job that has its result ends here.

        Raises:
            UserError: If the environment is none that can train.
        """
        self.cluster = Cluster.from_environment(self.environment)
        show_log(leads=self.cluster.leads)
        self.store = open_store(self.environment.get(contract.Env.ARTIFACTS_URI) or "qtj-artifacts/program")
        if not self.inferring:
            self._end_if_finished()
        self.telemetry = Telemetry(contract.Progress(epoch=0, epochs=epochs), "running")
        port = port_from(self.environment, contract.Env.METRICS_PORT)
        if port is not None:
            self.telemetry.serve(port)

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which judges stored weights."""
        return bool(self.environment.get(contract.Env.WEIGHTS_URI))

    def stored_weights(self) -> tuple[str, bytes]:
        """Returns address and bytes of the weights to judge.

        Raises:
            UserError: If they are not there, or not what was stored.
        """
        uri, sha256 = self.environment[contract.Env.WEIGHTS_URI], self.environment.get(contract.Env.WEIGHTS_SHA256)
        return uri, read_uri(uri) if sha256 is None else read_verified(Address(uri, sha256))

    def say(self, message: contract.TerminationMessage) -> None:
        """Leaves the last word of the process."""
        leave_message(self.environment, message)

    def end(self) -> NoReturn:
        """Ends the process well."""
        sys.stdout.flush()  # what the program has printed, which the end without teardown would lose
        leave(0)

    @contextmanager
    def mistakes_told(self) -> Iterator[None]:
        """Ends the process with the sentence of an error of ours."""
        try:
            yield
        except TrainerError as problem:
            self._fail(problem)

    def _end_if_finished(self) -> None:
        result = Result.of_job(self.store, self.uid)
        if result:
            if self.cluster.leads:
                clear_checkpoints(self.store, self.uid)  # a run that was killed after its result has left them
                self.say(result.message())
            leave(0)

    def _ended_by(self, kind: type[BaseException], problem: BaseException, traceback: TracebackType | None) -> None:
        """Ends a program that nobody has caught the error of: with a retry where it is a peer that has gone."""
        try:
            with self._peers_watched():
                raise problem  # noqa: TRY301  the context manager translates it
        except TrainerError as known:
            self._fail(known)
        except BaseException:  # noqa: BLE001  as without this hook, but for the teardown, which may wait for peers
            # Raised above, it begins with a frame of ours, which is no business of the program's author.
            sys.__excepthook__(kind, problem.with_traceback(traceback), traceback)
            sys.stderr.flush()
            leave(1)

    def _peers_watched(self) -> AbstractContextManager[None]:
        if "tensorflow" not in sys.modules:  # none of its errors then, and 7 seconds to import it
            return nullcontext()
        from qtj_trainer.replicate.strategy import peers_watched  # noqa: PLC0415

        return peers_watched(self.cluster)

    def _fail(self, problem: TrainerError) -> NoReturn:
        print(f"error: {problem}", file=sys.stderr, flush=True)  # noqa: T201  the program's last word
        self.say(contract.TerminationMessage(error=str(problem)))
        leave(problem.exit_code)
