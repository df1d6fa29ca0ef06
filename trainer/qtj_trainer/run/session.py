"""A program's process: how it becomes a replica of its job, and how it ends, with a sentence for each mistake."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import NoReturn

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.run.artifacts import Address, read_verified
from qtj_trainer.run.program_log import show_log
from qtj_trainer.run.replica import Replica
from qtj_trainer.run.signals import Stop, leave
from qtj_trainer.run.termination import leave_error
from qtj_trainer.storage import read_uri
from qtj_trainer.tracer import mend_tracer

__all__ = ["Session"]


class Session:
    """One process of a program, from its first line to its exit code.

    Attributes:
        replica: What it is in its job; from `begin` on.
    """

    replica: Replica

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._stop = Stop()
        self._stop.listen()
        mend_tracer()

    def begin(self, epochs: int) -> None:
        """Joins the job, and tells progress from now on. A job that has its result ends here.

        Raises:
            UserError: If the environment is none that can train, or nothing can be stored.
            TryAgainError: If the store does not answer, or a peer went away before all had come.
        """
        artifacts = self._environment.get(contract.Env.ARTIFACTS_URI) or "qtj-artifacts/program"
        self.replica = replica = Replica.join(self._environment, self._stop, artifacts)
        sys.excepthook = self._ended_by
        show_log(leads=replica.cluster.leads)
        if not self.inferring:
            if replica.finished():
                leave(0)
            replica.check()
        replica.serve(contract.Progress(epoch=0, epochs=epochs), "running")
        if not self.inferring:
            replica.meet()

    @property
    def inferring(self) -> bool:
        """Whether this is the Job of `spec.inference`, which judges stored weights."""
        return bool(self._environment.get(contract.Env.WEIGHTS_URI))

    def stored_weights(self) -> tuple[str, bytes]:
        """Returns address and bytes of the weights to judge.

        Raises:
            UserError: If they are not there, or not what was stored.
        """
        uri, sha256 = self._environment[contract.Env.WEIGHTS_URI], self._environment.get(contract.Env.WEIGHTS_SHA256)
        return uri, read_uri(uri) if sha256 is None else read_verified(Address(uri, sha256))

    def end(self) -> NoReturn:
        """Ends the process well."""
        sys.stdout.flush()  # what the program has printed, which the end without teardown would lose
        leave(0)

    @contextmanager
    def mistakes_reported(self) -> Iterator[None]:
        """Ends the process with the sentence of an error of ours."""
        try:
            yield
        except TrainerError as problem:
            self._fail(problem)

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

        return peers_watched(self.replica.cluster)

    def _fail(self, problem: TrainerError) -> NoReturn:
        leave_error(self._environment, str(problem))
        leave(problem.exit_code)
