"""One training run: check, train, store, say so.

First everything that can be wrong and is cheap to find, before TensorFlow's 11 seconds and the hours of training:

    1  the cluster, the store, the ports
    2  a result of this very job: then there is nothing left to do
    3  training, the same in all processes
    4  the leader stores: held-out set, weights, record, and last the result
    5  all leave together
"""

import logging
import platform
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING

from qtj_operator.api import contract
from qtj_trainer.run.artifacts import Record, Result, arrays_to_bytes, store_object
from qtj_trainer.run.cluster import Cluster
from qtj_trainer.run.telemetry import Telemetry, check_free, port_from
from qtj_trainer.run.termination import leave_message
from qtj_trainer.storage import Store, open_store
from qtj_trainer.workloads import Split, Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.run.loop import Epoch, Loop

__all__ = ["train"]

_LIBRARIES = ("tensorflow", "tensorflow-quantum", "tf-keras", "cirq-core", "numpy", "quantumtrainingjob")

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class Run:
    """What one run is about."""

    workload: Workload
    options: Options
    cluster: Cluster
    store: Store
    environment: Mapping[str, str]

    @property
    def job_uid(self) -> str:
        """Identity of the job, empty outside of one."""
        return self.environment.get(contract.Env.JOB_UID, "")


def train(workload: Workload, options: Options, artifacts: str, environment: Mapping[str, str]) -> None:
    """Trains a workload and stores its weights.

    Args:
        workload: What to train.
        options: Its options.
        artifacts: Where to store, an address for `open_store`.
        environment: The process environment.

    Raises:
        UserError: If the run cannot succeed as it is.
        TryAgainError: If another run may succeed.
    """
    cluster = Cluster.from_environment(environment)
    if not cluster.leads:
        log.setLevel(logging.WARNING)
    with closing(open_store(artifacts)) as store:
        result = _result(Run(workload, options, cluster, store, environment))
    if result and cluster.leads:
        leave_message(environment, result.message())


def _result(run: Run) -> Result | None:
    """Returns the result of the job; None in processes that do not lead while it is made."""
    result = Result.of_job(run.store, run.job_uid)
    if result:
        log.info("this job has trained before: its weights are %s", result.weights.uri)
        return result
    return _train_and_store(run)


def _train_and_store(run: Run) -> Result | None:
    if run.cluster.leads:
        run.store.check_writable()
    telemetry = _telemetry(run)
    profiler_port = port_from(run.environment, contract.Env.PROFILER_PORT)
    if profiler_port:
        check_free(profiler_port, contract.Env.PROFILER_PORT)

    from qtj_trainer.run.distribution import farewell, peers_watched, start_tensorflow  # noqa: PLC0415
    from qtj_trainer.run.loop import Loop  # noqa: PLC0415

    strategy = start_tensorflow(run.cluster, profiler_port=profiler_port)
    split = run.workload.split(run.options)
    with peers_watched(run.cluster):
        training, held_out = (run.workload.encode(part, run.options) for part in (split.training, split.held_out))
        loop = Loop(run.workload, run.options, strategy, training=training, held_out=held_out)
        last = _watch(run, loop, telemetry)
    result = _store(run, loop, split, last, telemetry.progress) if run.cluster.leads else None
    farewell(strategy, run.cluster)
    return result


def _telemetry(run: Run) -> Telemetry:
    telemetry = Telemetry(contract.Progress(epoch=0, epochs=run.options.epochs, step=0))
    port = port_from(run.environment, contract.Env.METRICS_PORT)
    if port is not None:
        telemetry.serve(port)
    return telemetry


def _watch(run: Run, loop: "Loop", telemetry: Telemetry) -> "Epoch":
    """Trains to the end, telling how far it is, and returns the last epoch."""

    def on_step(step: int) -> None:
        telemetry.progress = replace(telemetry.progress, step=step)

    for epoch in loop.epochs(on_step=on_step):
        telemetry.progress = replace(
            telemetry.progress,
            epoch=epoch.number,
            loss=epoch.loss,
            accuracy=epoch.scores[run.workload.accuracy],
            examples_per_second=epoch.examples_per_second,
        )
        log.info("epoch %s", _line(epoch, run.options.epochs))
    return epoch


def _line(epoch: "Epoch", epochs: int) -> str:
    scores = "  ".join(f"{name} {value:.4f}" for name, value in epoch.scores.items())
    number = f"{epoch.number:{len(str(epochs))}}/{epochs}"
    return f"{number}  loss {epoch.loss:.4f}  {scores}  {epoch.examples_per_second:.0f} examples/s"


def _store(run: Run, loop: "Loop", split: Split, last: "Epoch", progress: contract.Progress) -> Result:
    """Stores what the training came to, the result last."""
    from qtj_trainer.run.weights import dump_weights  # noqa: PLC0415

    metrics = {"loss": last.loss, **last.scores}
    _, held_out = store_object(run.store, "held-out", "npz", arrays_to_bytes(split.held_out))
    name, weights = store_object(run.store, "weights", "h5", dump_weights(loop.model))
    record = Record(
        workload=run.workload.name,
        options=asdict(run.options),
        fingerprint=run.workload.fingerprint(run.options),
        weights_sha256=weights.sha256,
        held_out=held_out,
        metrics=metrics,
        versions=_versions(),
        cluster=run.cluster.addresses(),
        job=run.environment.get(contract.Env.JOB, ""),
        attempt=run.environment.get(contract.Env.ATTEMPT, ""),
    )
    record.store(run.store, name)
    stored = contract.Weights(uri=weights.uri, sha256=weights.sha256)
    result = Result(job_uid=run.job_uid, weights=stored, metrics=metrics, progress=progress)
    result.store(run.store)
    log.info("weights %s", weights.uri)
    return result


def _versions() -> dict[str, str]:
    def version(library: str) -> str:
        try:
            return metadata.version(library)
        except metadata.PackageNotFoundError:  # run from its sources
            return "unknown"

    return {"python": platform.python_version(), **{library: version(library) for library in _LIBRARIES}}
