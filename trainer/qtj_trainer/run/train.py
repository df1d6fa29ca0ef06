"""One training run: check, train, store, say so.

First everything that can be wrong and is cheap to find, before TensorFlow's 11 seconds and the hours of training:

    1  the cluster, the store, the ports
    2  a result of this very job: then there is nothing left to do
    3  a checkpoint of this very job: then all go on from there
    4  training, the same in all processes; the leader stores checkpoints
    5  the leader stores: held-out set, weights, record, and last the result
    6  all leave together
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
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.run.cluster import Cluster
from qtj_trainer.run.epoch import Epoch
from qtj_trainer.run.garbage import none_collected
from qtj_trainer.run.telemetry import Telemetry, check_free, port_from
from qtj_trainer.run.termination import leave_message
from qtj_trainer.storage import Store, open_store
from qtj_trainer.workloads import Split, Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    from qtj_trainer.run.loop import Loop

__all__ = ["train"]

_LIBRARIES = ("tensorflow", "tensorflow-quantum", "tf-keras", "cirq-core", "numpy", "quantumtrainingjob")

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class Run:
    """What one run is about; without a job its uid is empty."""

    workload: Workload
    options: Options
    cluster: Cluster
    store: Store
    checkpoints: Checkpoints
    job_uid: str
    environment: Mapping[str, str]

    def progress(self, epoch: Epoch | None) -> contract.Progress:
        """Says how far training is after an epoch; None before the first."""
        if epoch is None:
            return contract.Progress(epoch=0, epochs=self.options.epochs, step=0)
        return contract.Progress(
            epoch=epoch.number,
            epochs=self.options.epochs,
            step=epoch.step,
            loss=epoch.loss,
            accuracy=epoch.scores[self.workload.accuracy],
            examples_per_second=epoch.examples_per_second,
        )


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
        job_uid = environment.get(contract.Env.JOB_UID, "")
        checkpoints = Checkpoints(store, job_uid, workload, options)
        result = _result(Run(workload, options, cluster, store, checkpoints, job_uid, environment))
    if result and cluster.leads:
        leave_message(environment, result.message())


def _result(run: Run) -> Result | None:
    """Returns the result of the job; None in processes that do not lead while it is made."""
    result = Result.of_job(run.store, run.job_uid)
    if result:
        log.info("this job has trained before: its weights are %s", result.weights.uri)
        if run.cluster.leads:
            run.checkpoints.clear()
        return result
    return _train_and_store(run)


def _train_and_store(run: Run) -> Result | None:
    if run.cluster.leads:
        run.store.check_writable()
    newest = run.checkpoints.newest() if run.cluster.leads else None
    telemetry = _telemetry(run, newest)
    profiler_port = port_from(run.environment, contract.Env.PROFILER_PORT)
    if profiler_port:
        check_free(profiler_port, contract.Env.PROFILER_PORT)

    with none_collected():
        from qtj_trainer.run.distribution import farewell, peers_watched, start_tensorflow  # noqa: PLC0415
        from qtj_trainer.run.loop import Loop  # noqa: PLC0415

        word = newest.name if newest else ""
        strategy, chosen = start_tensorflow(run.cluster, word=word, profiler_port=profiler_port)
        checkpoint = newest or (run.checkpoints.read(chosen) if chosen else None)
        split = run.workload.split(run.options)
        training, held_out = (run.workload.encode(part, run.options) for part in (split.training, split.held_out))
        with peers_watched(run.cluster):
            loop = Loop(run.workload, run.options, strategy, training=training, held_out=held_out)
    with peers_watched(run.cluster):
        last = _watch(run, loop, telemetry, checkpoint)
    result = _store(run, loop, split, last) if run.cluster.leads else None
    if result:
        run.checkpoints.clear()
    farewell(strategy, run.cluster)
    return result


def _telemetry(run: Run, checkpoint: Checkpoint | None) -> Telemetry:
    telemetry = Telemetry(run.progress(checkpoint.epoch if checkpoint else None))
    port = port_from(run.environment, contract.Env.METRICS_PORT)
    if port is not None:
        telemetry.serve(port)
    return telemetry


def _watch(run: Run, loop: "Loop", telemetry: Telemetry, checkpoint: Checkpoint | None) -> Epoch:
    """Trains to the end, storing and telling how far it is, and returns the last epoch."""

    def on_step(step: int) -> None:
        telemetry.progress = replace(telemetry.progress, step=step)

    last = _resume(loop, checkpoint) if checkpoint else None
    telemetry.progress = run.progress(last)
    for epoch in loop.epochs(first=last.number if last else 0, on_step=on_step):
        last = epoch
        telemetry.progress = run.progress(epoch)
        log.info("epoch %s", _line(epoch, run.options.epochs))
        if run.cluster.leads and run.checkpoints.is_due(epoch.number):
            run.checkpoints.save(epoch, loop.state())
    assert last  # noqa: S101  at least one epoch is asked for
    return last


def _resume(loop: "Loop", checkpoint: Checkpoint) -> Epoch:
    loop.restore(checkpoint.state)
    log.info("resumed after epoch %d from %s", checkpoint.epoch.number, checkpoint.uri)
    return checkpoint.epoch


def _line(epoch: Epoch, epochs: int) -> str:
    scores = "  ".join(f"{name} {value:.4f}" for name, value in epoch.scores.items())
    number = f"{epoch.number:{len(str(epochs))}}/{epochs}"
    return f"{number}  loss {epoch.loss:.4f}  {scores}  {epoch.examples_per_second:.0f} examples/s"


def _store(run: Run, loop: "Loop", split: Split, last: Epoch) -> Result:
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
    result = Result(job_uid=run.job_uid, weights=stored, metrics=metrics, progress=run.progress(last))
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
