"""Stores the outcome of a finished training."""

import logging
import platform
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

import qtj_contract as contract
from qtj_contract.version import installed_version
from qtj_trainer.arrays.metrics import finite
from qtj_trainer.libraries import tensorflow_version
from qtj_trainer.run.training_run import Run
from qtj_trainer.stored.artifacts import Address, Record, Result, arrays_to_bytes, store_object
from qtj_trainer.stored.exported import store_circuits
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.weights import dump_weights
from qtj_trainer.workloads import Arrays

if TYPE_CHECKING:
    from qtj_trainer.loop.loop import Loop

__all__ = ["store_outcome"]

_LIBRARIES = ("tensorflow-quantum", "tf-keras", "cirq-core", "numpy")

log = logging.getLogger("qtj_trainer")


def store_outcome(run: Run, loop: "Loop", held_out: Arrays, end: Position) -> Result:
    """Stores held-out set, weights and record, and the result last.

    With early stopping, the result has the weights of the best epoch, and also names the last weights.
    """
    assert end.last
    _, examples = store_object(run.replica.store, "held-out", "npz", arrays_to_bytes(held_out))
    last = weights = _stored(run, loop, examples, end.last)
    if end.best:
        loop.take_best()
        weights = _stored(run, loop, examples, end.best)
        log.info("weights after epoch %d, the last: %s", end.epochs, last.uri)
    chosen = end.best or end.last
    result = run.replica.store_result(
        weights,
        _metrics(chosen),
        epoch=chosen.number,
        last_weights=last if end.best else None,
        settings=run.settings,
    )
    log.info("weights %s", weights.uri)
    return result


def _metrics(epoch: Epoch) -> dict[str, float]:
    return finite({"loss": epoch.loss, **epoch.scores})


def _stored(run: Run, loop: "Loop", held_out: Address, epoch: Epoch) -> contract.Weights:
    """Stores the model's weights after an epoch, with their record."""
    metrics = _metrics(epoch)
    name, weights = store_object(run.replica.store, "weights", "h5", dump_weights(loop.model))
    record = Record(
        workload=run.workload.name,
        options=asdict(run.workload.as_run(run.options, loop.model)),
        fingerprint=run.workload.fingerprint(run.options),
        weights_sha256=weights.sha256,
        held_out=held_out,
        metrics=metrics,
        versions=_versions(),
        image=run.replica.environment.get(contract.Env.IMAGE, ""),
        cluster=run.replica.cluster.addresses(),
        job=run.replica.environment.get(contract.Env.JOB, ""),
        attempt=run.replica.environment.get(contract.Env.ATTEMPT, ""),
        circuits=store_circuits(run.replica.store, name, loop.model),
        epoch=epoch.number,
    )
    record.store(run.replica.store, name)
    if circuit := run.workload.drawing(run.options):
        run.replica.store.write(f"{name.removesuffix('.h5')}.txt", circuit.encode())
    return contract.Weights(uri=weights.uri, sha256=weights.sha256)


def _versions() -> dict[str, str]:
    def version(installed: Callable[[], str]) -> str:
        try:
            return installed()
        except metadata.PackageNotFoundError:  # it runs from a source folder
            return "unknown"

    libraries = {library: version(partial(metadata.version, library)) for library in _LIBRARIES}
    tensorflow = {"tensorflow": tensorflow_version() or "unknown"}
    return {
        "python": platform.python_version(), **tensorflow, **libraries, "quantumtrainingjob": version(installed_version)
    }  # fmt: skip
