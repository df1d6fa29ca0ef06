"""Stores the predictions of an inference, so that users can look at them."""

import logging

from qtj_contract.predictions import Predictions, predictions_uri
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import write_uri

__all__ = ["store_predictions"]

log = logging.getLogger("qtj_trainer")


def store_predictions(weights: str, predictions: Predictions) -> None:
    """Stores predictions beside their weights. A failure is only logged, because the inference is complete."""
    uri = predictions_uri(weights)
    try:
        write_uri(uri, predictions.to_json().encode())
    except TrainerError as problem:
        log.warning("the predictions are not stored: %s", problem)
    else:
        log.info("predictions %s", uri)
