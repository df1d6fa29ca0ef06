"""What a finished training leaves."""

import logging
import platform
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING

from qtj_operator.api import contract
from qtj_trainer.run.artifacts import Record, Result, arrays_to_bytes, store_object
from qtj_trainer.run.exported import store_circuits
from qtj_trainer.run.job import Run
from qtj_trainer.run.metrics import finite
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.weights import dump_weights
from qtj_trainer.workloads import Arrays

if TYPE_CHECKING:
    import tf_keras

__all__ = ["store_outcome"]

_LIBRARIES = ("tensorflow", "tensorflow-quantum", "tf-keras", "cirq-core", "numpy", "quantumtrainingjob")

log = logging.getLogger("qtj_trainer")


def store_outcome(run: Run, model: "tf_keras.Model", held_out: Arrays, last: Epoch) -> Result:
    """Stores what the training came to, the result last."""
    metrics = finite({"loss": last.loss, **last.scores})
    _, examples = store_object(run.store, "held-out", "npz", arrays_to_bytes(held_out))
    name, weights = store_object(run.store, "weights", "h5", dump_weights(model))
    record = Record(
        workload=run.workload.name,
        options=asdict(run.workload.as_run(run.options, model)),
        fingerprint=run.workload.fingerprint(run.options),
        weights_sha256=weights.sha256,
        held_out=examples,
        metrics=metrics,
        versions=_versions(),
        image=run.environment.get(contract.Env.IMAGE, ""),
        cluster=run.cluster.addresses(),
        job=run.environment.get(contract.Env.JOB, ""),
        attempt=run.environment.get(contract.Env.ATTEMPT, ""),
        circuits=store_circuits(run.store, name, model),
    )
    record.store(run.store, name)
    if circuit := run.workload.drawing(run.options):
        run.store.write(name.replace(".h5", ".txt"), circuit.encode())
    stored = contract.Weights(uri=weights.uri, sha256=weights.sha256)
    progress = run.progress(Position(last.step, last), last.step // last.number)
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
