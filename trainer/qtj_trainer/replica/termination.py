"""What a process tells at its end: its termination message, and what an inference stores beside the weights."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path

import qtj_contract as contract
from qtj_contract.inference_result import result_json, result_uri
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_trainer.errors import TrainerError, TryAgainError
from qtj_trainer.report.report import store_report
from qtj_trainer.storage import Store, write_uri

__all__ = ["report_error", "report_inference", "store_predictions", "write_message"]

log = logging.getLogger("qtj_trainer")


def report_error(environment: Mapping[str, str], sentence: str) -> None:
    """Reports why the process ends, on stderr and in the termination message."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  programs may show no log
    write_message(environment, contract.TerminationMessage(error=sentence))


def write_message(environment: Mapping[str, str], message: contract.TerminationMessage) -> None:
    """Writes the message to the file that the kubelet reads; does nothing outside of a pod and without the variable.

    Raises:
        TryAgainError: The message names weights and cannot be written. The operator would never know of them. If it is
            run again, the process finds its result and ends at once.
    """
    named = environment.get(contract.Env.TERMINATION_LOG)
    path = Path(named or contract.TERMINATION_MESSAGE_PATH)
    if not named and not path.exists():
        return
    try:
        path.write_text(message.to_json(_limit(environment)))
    except OSError as problem:
        if message.weights:  # the log has the rest
            cause = f"the termination message cannot be written to {path} ({problem.strerror})"
            raise TryAgainError(f"{cause}: make room on the node") from problem


def _limit(environment: Mapping[str, str]) -> int:
    """Returns how many bytes the kubelet keeps of the message."""
    given = environment.get(contract.Env.TERMINATION_LIMIT, "")
    return int(given) if given.isdecimal() else contract.TERMINATION_MESSAGE_LIMIT


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
