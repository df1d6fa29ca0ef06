"""Stores the predictions of an inference, so that users can look at them."""

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtj_contract.predictions import KEPT_PREDICTIONS, Predictions, predictions_uri
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import write_uri
from qtj_trainer.workloads import Workload

if TYPE_CHECKING:
    from qtj_trainer.workloads.options import Options

__all__ = ["predictions_of", "store_predictions"]

log = logging.getLogger("qtj_trainer")


def predictions_of(workload: Workload, options: "Options", labels: NDArray[Any], outputs: NDArray[Any]) -> Predictions:
    """Returns the predictions that a workload derives from its model's outputs."""
    answers = workload.answers(labels[:KEPT_PREDICTIONS], outputs[:KEPT_PREDICTIONS])
    finite = np.isfinite(answers.scores)
    return Predictions(
        classes=workload.classes(options),
        labels=answers.labels.tolist(),
        predictions=[each if good else None for each, good in zip(answers.predictions.tolist(), finite, strict=True)],
        scores=answers.scores.tolist(),
        examples=len(labels),
    )


def store_predictions(weights: str, predictions: Predictions) -> None:
    """Stores predictions beside their weights. A failure is only logged, because the inference is complete."""
    uri = predictions_uri(weights)
    try:
        write_uri(uri, predictions.to_json().encode())
    except TrainerError as problem:
        log.warning("the predictions are not stored: %s", problem)
    else:
        log.info("predictions %s", uri)
