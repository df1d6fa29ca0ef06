"""One inference run: evaluates the trained weights on the held-out set of their training."""

import logging
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import qtj_contract as contract
from qtj_contract.predictions import KEPT_PREDICTIONS, Predictions
from qtj_trainer.arrays.metrics import finite
from qtj_trainer.errors import UserError
from qtj_trainer.replica.garbage import none_collected
from qtj_trainer.replica.termination import report_inference, store_predictions
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.storage import open_store
from qtj_trainer.stored.artifacts import Address, Record, Result, arrays_from_bytes, read_verified
from qtj_trainer.workloads import WORKLOADS, Arrays, Workload

if TYPE_CHECKING:
    from qtj_trainer.workloads.options import Options

__all__ = ["infer", "predictions_of"]

log = logging.getLogger("qtj_trainer")


def infer(weights: str | None, sha256: str | None, artifacts: str, environment: Mapping[str, str]) -> None:
    """Evaluates stored weights on the held-out set of their training.

    Args:
        weights: Address of the weights; None takes the latest weights of `artifacts`.
        sha256: Digest that the weights must have; None takes the one in their record.
        artifacts: Where the latest weights are looked up.
        environment: The process environment.

    Raises:
        UserError: If weights, record or examples are missing, changed, or of another version, or if a metric is not
            finite.
    """
    uri = weights or _latest_weights(artifacts)
    record = Record.of_weights(uri)
    data = read_verified(Address(uri, sha256 or record.weights_sha256))
    held_out = arrays_from_bytes(read_verified(record.held_out))
    workload = _workload(record)
    options = workload.options.from_record(record.options)

    _check_structure(workload, options, record)
    workload.verify(held_out)
    labels, predictions = _predict(workload, options, data, held_out)
    with np.errstate(over="ignore", invalid="ignore"):  # `finite` reports it in a sentence
        scores = {name: np.asarray(each) for name, each in workload.score(labels, predictions).items()}
        metrics = {name: float(each.mean()) for name, each in scores.items()}
    log.info("%d held-out examples  %s", len(labels), "  ".join(f"{name} {mean:.4f}" for name, mean in metrics.items()))
    store_predictions(uri, predictions_of(workload, options, labels, predictions))
    used, measured = contract.Weights(uri=uri, sha256=record.weights_sha256), finite(metrics)
    with closing(open_store(artifacts)) as store:
        report_inference(environment, store, used, measured)


def _latest_weights(artifacts: str) -> str:
    with closing(open_store(artifacts)) as store:
        return Result.latest(store).weights.uri


def _workload(record: Record) -> Workload:
    if record.workload not in WORKLOADS:
        names = ", ".join(WORKLOADS)
        raise UserError(f"the weights are of the workload {record.workload!r}, this trainer has {names}: update it")
    return WORKLOADS[record.workload]


def _check_structure(workload: Workload, options: "Options", record: Record) -> None:
    if workload.fingerprint(options) != record.fingerprint:
        raise UserError(
            f"the record of the weights describes another {workload.name} than this trainer builds from its options:"
            " the record was changed since, or is of another version; restore the record or use the version it names"
        )


def _predict(
    workload: Workload, options: "Options", weights: bytes, held_out: Arrays
) -> tuple[NDArray[Any], NDArray[Any]]:
    with none_collected():
        from qtj_trainer.loop.batches import Batch, batches, inputs_named, steps_per_epoch
        from qtj_trainer.replicate.strategy import start_tensorflow
        from qtj_trainer.weights import load_weights

        start_tensorflow(Cluster.alone())

        import tensorflow as tf

        # AutoGraph has nothing to convert in the layers of a workload.
        model = tf.autograph.experimental.do_not_convert(workload.model)(options)
    load_weights(model, weights, otherwise=f"the weights do not fit the model {model.name}")
    examples = workload.encode(held_out, options)
    taken = batches(examples, options.batch_size).take(steps_per_epoch(len(examples), options.batch_size))
    with inputs_named(examples):
        outputs = [model(Batch(*batch).cut().inputs, training=False).numpy() for batch in taken]
    return examples.labels, np.concatenate(outputs)


def predictions_of(workload: Workload, options: "Options", labels: NDArray[Any], outputs: NDArray[Any]) -> Predictions:
    """Returns the predictions that a workload derives from its model's outputs."""
    answers = workload.answers(labels[:KEPT_PREDICTIONS], outputs[:KEPT_PREDICTIONS])
    are_numbers = np.isfinite(answers.scores)
    return Predictions(
        classes=workload.classes(options),
        labels=answers.labels.tolist(),
        predictions=[
            each if good else None for each, good in zip(answers.predictions.tolist(), are_numbers, strict=True)
        ],
        scores=answers.scores.tolist(),
        examples=len(labels),
    )
