"""The predictions that a workload derives from the outputs of its model."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtj_contract.predictions import KEPT_PREDICTIONS, Predictions
from qtj_trainer.workloads import Workload

if TYPE_CHECKING:
    from qtj_trainer.workloads.options import Options

__all__ = ["predictions_of"]


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
