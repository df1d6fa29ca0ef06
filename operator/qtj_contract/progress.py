"""How far training is: what the progress endpoint answers."""

import json
import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Self

from qtj_contract.values import UNREADABLE, count, known_count, number, text

__all__ = ["PROGRESS_PATH", "Progress", "activity_in"]

PROGRESS_PATH = "/progress"
"""HTTP path on the metrics port that answers with a `Progress` as JSON."""

_ACTIVITY_LENGTH = 60
"""Characters kept of an activity: it stands beside other things in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far training is, served by the chief at `PROGRESS_PATH`. All but the epoch may be unknown.

    Attributes:
        epoch: Epochs finished.
        epochs: Epochs asked for.
        step: Optimizer steps finished.
        checkpoint_step: Optimizer steps that the last stored checkpoint holds.
        devices: Devices of all replicas that train.
        steps: Optimizer steps of all epochs together.
        loss: Training loss of the last finished epoch.
        accuracy: Accuracy on the held-out set after the last finished epoch, 0 to 1.
        validation_loss: Loss on the held-out set after the last finished epoch.
        training_accuracy: Accuracy on the training set over the last finished epoch, as the model trained, 0 to 1.
        examples_per_second: Training examples of all replicas per second in the last finished epoch.
        gradient_variance: Variance over the components of the circuits' gradient; vanishing, it is a barren plateau.
        best_epoch: With early stopping, the epoch with the lowest loss on the held-out set, whose weights are kept.
    """

    epoch: int
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    accuracy: float | None = None
    validation_loss: float | None = None
    training_accuracy: float | None = None
    examples_per_second: float | None = None
    gradient_variance: float | None = None
    checkpoint_step: int | None = None
    devices: int | None = None
    best_epoch: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the progress with the status' field names (camelCase), leaving out what is not known yet."""
        known = {name: value for name, value in asdict(self).items() if value is not None and math.isfinite(value)}
        return {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in known.items()}

    def to_json(self) -> str:
        """Encodes the progress."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, said: Any) -> Self | None:  # noqa: ANN401  JSON is anything
        """Reads a decoded progress, or returns None for something else."""
        try:
            return cls(
                epoch=count(said["epoch"]),
                epochs=known_count(said.get("epochs")),
                step=known_count(said.get("step")),
                steps=known_count(said.get("steps") or None),
                loss=number(said.get("loss")),
                accuracy=number(said.get("accuracy")),
                validation_loss=number(said.get("validationLoss")),
                training_accuracy=number(said.get("trainingAccuracy")),
                examples_per_second=number(said.get("examplesPerSecond")),
                gradient_variance=number(said.get("gradientVariance")),
                checkpoint_step=known_count(said.get("checkpointStep") or None),
                devices=known_count(said.get("devices") or None),
                best_epoch=known_count(said.get("bestEpoch") or None),
            )
        except UNREADABLE:
            return None

    @classmethod
    def parse(cls, answer: str) -> Self | None:
        """Decodes a progress, or returns None for text that is not one."""
        try:
            return cls.from_dict(json.loads(answer))
        except UNREADABLE:
            return None


def activity_in(answer: str) -> str | None:
    """Returns what a program says it is doing when it is not training; "" while it trains, None where it said nothing.

    Args:
        answer: What its progress endpoint answered. It is no part of `Progress`: the status has numbers alone.
    """
    try:
        said = json.loads(answer)
        return text(said.get("activity") or "").replace("\n", " ")[:_ACTIVITY_LENGTH]
    except UNREADABLE:
        return None
