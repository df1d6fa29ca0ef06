"""Reports what an inference has measured: in a file beside its weights, which outlives the pod, and to the operator."""

import logging
from collections.abc import Mapping

import qtj_contract as contract
from qtj_contract.inference_result import result_json, result_uri
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_trainer.errors import TrainerError
from qtj_trainer.replica.termination import write_message
from qtj_trainer.report.report import store_report
from qtj_trainer.storage import Store, write_uri

__all__ = ["report_inference", "store_predictions"]

log = logging.getLogger("qtj_trainer")


def report_inference(
    environment: Mapping[str, str], store: Store, weights: contract.Weights, metrics: Mapping[str, float]
) -> None:
    """Stores the result and the report of the job, and writes the termination message.

    Args:
        environment: The environment of the inference.
        store: The artifacts.
        weights: The weights that were evaluated; their digest may be empty.
        metrics: What was measured: finite numbers by name.
    """
    result = _stored(environment, weights, metrics)
    report = store_report(environment, store, weights, metrics)
    message = contract.TerminationMessage(metrics=metrics, result=result, report=report or None)
    write_message(environment, message)


def _stored(environment: Mapping[str, str], weights: contract.Weights, metrics: Mapping[str, float]) -> str | None:
    """Stores the metrics; returns their address. A failure is only logged: the termination message has them too."""
    uri = result_uri(weights.uri)
    try:
        write_uri(uri, result_json(environment, weights.sha256, metrics).encode())
    except TrainerError as problem:
        log.warning("the metrics are not stored: %s", problem)
        return None
    log.debug("metrics %s", uri)  # the log of a program belongs to its author
    return uri


def store_predictions(weights: str, predictions: Predictions) -> None:
    """Stores predictions beside their weights. A failure is only logged, because the inference is complete."""
    uri = predictions_uri(weights)
    try:
        write_uri(uri, predictions.to_json().encode())
    except TrainerError as problem:
        log.warning("the predictions are not stored: %s", problem)
    else:
        log.info("predictions %s", uri)
