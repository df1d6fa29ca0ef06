"""One replica of a job, from its environment to its termination message.

The trainer's workloads (`train`) and users' own programs (`program`) take the same steps:

    join        finds the cluster and the artifacts
    finished    ends here if the job has its result
    check       finds early what would fail after hours: artifacts that cannot be written, a port that is in use
    serve       answers requests for its progress
    meet        waits for all other replicas
    ...         trains, see `training`
    finish      stores the result (the leader), waits until all are done, and writes the termination message
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.replica.signals import Stop
from qtj_trainer.replica.telemetry import Telemetry, check_free, port_from
from qtj_trainer.replica.termination import write_message
from qtj_trainer.replica.tracked import Tracked
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.rendezvous import meet
from qtj_trainer.report.report import store_report, stored_report
from qtj_trainer.storage import Store, open_store
from qtj_trainer.stored.artifacts import Result
from qtj_trainer.stored.checkpoints import clear_checkpoints
from qtj_trainer.stored.extension import Extension, extension_of

__all__ = ["Replica"]

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class Replica:
    """One process of a job; without a job its uid is empty.

    Attributes:
        environment: Its environment.
        stop: Ends the process on SIGTERM, but not within a checkpoint.
        cluster: The processes that train together.
        store: The artifacts.
        telemetry: What the progress endpoint answers.
        tracked: What a tracking server gets of the training.
    """

    environment: Mapping[str, str] = field(repr=False)
    stop: Stop
    cluster: Cluster
    store: Store
    telemetry: Telemetry
    tracked: Tracked

    @classmethod
    def join(cls, environment: Mapping[str, str], stop: Stop, artifacts: str, *, may_evaluate: bool = False) -> Self:
        """Finds the cluster and the artifacts.

        Args:
            environment: The environment.
            stop: Listens for SIGTERM.
            artifacts: Where to store, an address for `open_store`.
            may_evaluate: Whether the program can be the evaluator.

        Raises:
            UserError: If the environment has no valid cluster with this process, or the address is invalid.
        """
        cluster = Cluster.from_environment(environment, may_evaluate=may_evaluate)
        telemetry = Telemetry(contract.Progress(epoch=0))
        telemetry.clock.deadline = contract.progress_deadline(environment.get(contract.Env.PROGRESS_DEADLINE))
        store = open_store(artifacts)
        return cls(environment, stop, cluster, store, telemetry, Tracked(environment, store))

    @property
    def job_uid(self) -> str:
        """The uid of the job; empty without one."""
        return self.environment.get(contract.Env.JOB_UID, "")

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1; 1 without a job."""
        text = self.environment.get(contract.Env.ATTEMPT, "")
        return int(text) if text.isdecimal() else 1

    @property
    def profiler_port(self) -> int | None:
        """Port of the profiler; None without one."""
        return port_from(self.environment, contract.Env.PROFILER_PORT)

    def finished(self, settings: str = "", epochs: int = 0) -> Result | None:
        """Returns the result of a job that has finished already. The leader writes it as its termination message.

        Args:
            settings: See `Result.obstacle`.
            epochs: The epochs that are asked for; 0 if they are in the settings.

        Raises:
            UserError: If the store refuses to read it, or it cannot be decoded.
            TryAgainError: If the store does not answer.
        """
        result = Result.of_job(self.store, self.job_uid)
        wanted = 0 if extension_of(self.environment) is Extension.NONE else epochs
        if result and (obstacle := result.obstacle(self.store, settings, wanted)):
            log.warning("this job has finished already, and trains again: %s", obstacle)
            return None
        if result:
            log.info("this job has finished already: its weights are %s", result.weights.uri)
        if result and self.cluster.leads:
            # A run that was killed after it stored the result did not delete them.
            clear_checkpoints(self.store, self.job_uid)
            self.write_message(result.message(stored_report(self.environment, self.store) or self._reported(result)))
        return result

    def result_so_far(self, settings: str = "") -> Result | None:
        """Returns the result of the job; None if there is none yet, or the store does not answer.

        Args:
            settings: See `Result.obstacle`.
        """
        with suppress(TrainerError):
            result = Result.of_job(self.store, self.job_uid)
            return result if result and not result.obstacle(self.store, settings) else None
        return None

    def check(self) -> None:
        """Checks what training would detect late, or not at all.

        Raises:
            UserError: If the leader cannot write the artifacts, or the port for profiles is in use.
            TryAgainError: If the store does not answer.
        """
        if self.cluster.leads:
            self.store.check_writable()
        if self.profiler_port:
            check_free(self.profiler_port, contract.Env.PROFILER_PORT)

    def serve(self, progress: contract.Progress, activity: str = "") -> None:
        """Serves the progress from now on, if the environment names a port for it.

        Raises:
            UserError: If the port is in use.
        """
        self.telemetry.progress, self.telemetry.activity = progress, activity
        port = port_from(self.environment, contract.Env.METRICS_PORT)
        if port is not None:
            self.telemetry.serve(port)

    def meet(self) -> None:
        """Waits for all other replicas, unless a coordinator schedules the steps.

        A strategy of TensorFlow for several workers waits as well, but it holds Python's lock: the process could not
        react to SIGTERM or answer for its progress. So call this before the strategy is created.

        Raises:
            UserError: If the port of this process is in use.
            TryAgainError: If a peer was lost in the meantime.
        """
        if self.cluster.size == 1 or self.cluster.is_coordinated:
            return
        before, self.telemetry.activity = self.telemetry.activity, "connecting"
        meet(self.cluster)
        self.telemetry.activity = before

    def store_result(
        self,
        weights: contract.Weights,
        metrics: dict[str, float],
        *,
        epoch: int = 0,
        last_weights: contract.Weights | None = None,
        settings: str = "",
        warning: str = "",
    ) -> Result:
        """Stores the result that names stored weights. For the leader; see `Result`.

        Raises:
            UserError: If the store refuses it.
            TryAgainError: If the store does not answer.
        """
        progress = self.telemetry.report()
        result = Result(
            job_uid=self.job_uid,
            weights=weights,
            metrics=metrics,
            progress=progress,
            epoch=epoch,
            last_weights=last_weights,
            settings=settings,
            warning=warning,
        )
        result.store(self.store)
        return result

    def finish(self, store: Callable[[], Result], leave_together: Callable[[], None]) -> None:
        """Stores the weights and the result, and ends the training together with all other replicas.

        Args:
            store: Stores weights and result and then deletes the checkpoints. Only the leader calls it.
            leave_together: Waits until all processes can end. One that ended early would make the waiting ones fail.

        Raises:
            UserError: If the store refuses to write, or a metric is not a finite number.
            TryAgainError: If the store does not answer, or a peer has died.
        """
        self.telemetry.activity = "storing"
        result = None
        if self.cluster.leads:
            with self.stop.deferred():
                result = store()
        leave_together()
        if result:
            report = self._reported(result)
            self.write_message(result.message(report))
            self.tracked.finish(result, report)

    def _reported(self, result: Result) -> str:
        """Stores the report of a finished training; returns its address, which is empty if there is none."""
        return store_report(self.environment, self.store, result.weights, result.metrics)

    def write_message(self, message: contract.TerminationMessage) -> None:
        """Writes the termination message, where the kubelet reads it."""
        write_message(self.environment, message)
