"""The progress of a training, as the progress endpoint reports it."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any, Protocol, Self

from qtj_contract.captures import MOST_CAPTURES, CaptureRecord
from qtj_contract.values import UNREADABLE, count, finite, readable, text

__all__ = ["PROGRESS_LIMIT", "PROGRESS_PATH", "EpochNumbers", "Progress", "activity_in", "named_numbers"]

PROGRESS_PATH = "/progress"
"""HTTP path on the metrics port that answers with a `Progress` as JSON."""

PROGRESS_LIMIT = 32_768
"""Bytes that are read of the answer. Records of captures take up to 18 KB: JSON needs six bytes for many characters."""

MOST_SCORES = 20
"""How many other numbers of an epoch are reported."""

_NAME_LENGTH = 60
_ACTIVITY_LENGTH = 60
"""Characters kept of an activity, because it is shown in one line with other fields."""


class EpochNumbers(Protocol):
    """The numbers of an epoch, as a progress and a record of an epoch have them."""

    @property
    def loss(self) -> float | None: ...
    @property
    def accuracy(self) -> float | None: ...
    @property
    def validation_loss(self) -> float | None: ...
    @property
    def training_accuracy(self) -> float | None: ...
    @property
    def scores(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a training, served by the leader at `PROGRESS_PATH`. Everything but the epoch may be unknown.

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
        gradient_variance: Variance over the components of the circuits' gradient; close to 0, it is a barren plateau.
        best_epoch: With early stopping, the epoch with the lowest loss on the held-out set, whose weights are kept.
        captures: The last profiles that the job took of itself, by `spec.profiler.captures`.
        scores: Other numbers of the last finished epoch, by name; `val_` begins those on the held-out set, as in Keras.
        metric: The name that the program gave first, besides its loss, as in `named_numbers`.
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
    captures: tuple[CaptureRecord, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    metric: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the progress with the field names of the status (camelCase), without what is not known yet."""
        others = {"captures", "scores", "metric"}
        numbers = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in others}
        known = {name: value for name, value in numbers.items() if value is not None and math.isfinite(value)}
        written = {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in known.items()}
        captures = [each.to_dict() for each in self.captures[-MOST_CAPTURES:]]
        lists = {"captures": captures, "scores": _scores(self.scores), "metric": self.metric}
        return {**written, **{name: value for name, value in lists.items() if value}}

    def to_json(self) -> str:
        """Encodes the progress."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, raw: Any) -> Self | None:
        """Reads decoded JSON; returns None if it has no epoch. Another value that cannot be read counts as unknown."""
        try:
            return cls(
                epoch=count(raw["epoch"]),
                epochs=readable(count, raw.get("epochs")),
                step=readable(count, raw.get("step")),
                steps=readable(count, raw.get("steps") or None),
                loss=readable(finite, raw.get("loss")),
                accuracy=readable(finite, raw.get("accuracy")),
                validation_loss=readable(finite, raw.get("validationLoss")),
                training_accuracy=readable(finite, raw.get("trainingAccuracy")),
                examples_per_second=readable(finite, raw.get("examplesPerSecond")),
                gradient_variance=readable(finite, raw.get("gradientVariance")),
                checkpoint_step=readable(count, raw.get("checkpointStep") or None),
                devices=readable(count, raw.get("devices") or None),
                best_epoch=readable(count, raw.get("bestEpoch") or None),
                captures=_captures(raw.get("captures")),
                scores=readable(_scores, raw.get("scores")) or {},
                metric=readable(_name, raw.get("metric")),
            )
        except UNREADABLE:
            return None

    @classmethod
    def parse(cls, answer: str) -> Self | None:
        """Decodes a progress; returns None for other text."""
        try:
            return cls.from_dict(json.loads(answer))
        except UNREADABLE:
            return None


def named_numbers(epoch: EpochNumbers) -> dict[str, float]:
    """Returns the numbers of an epoch by the names that Keras and `epoch.report` have for them."""
    named = {
        "loss": epoch.loss,
        "accuracy": epoch.training_accuracy,
        "val_loss": epoch.validation_loss,
        "val_accuracy": epoch.accuracy,
        **epoch.scores,
    }
    return {name: value for name, value in named.items() if value is not None and math.isfinite(value)}


def _captures(raw: Any) -> tuple[CaptureRecord, ...]:
    items = raw[-MOST_CAPTURES:] if isinstance(raw, list) else []
    return tuple(filter(None, (readable(CaptureRecord.from_dict, each) for each in items)))


def _scores(raw: Mapping[str, Any]) -> dict[str, float]:
    """Returns the first finite numbers by name."""
    known = ((_name(name), readable(finite, value)) for name, value in raw.items())
    return dict(islice(((name, value) for name, value in known if value is not None), MOST_SCORES))


def _name(raw: object) -> str:
    return text(raw)[:_NAME_LENGTH]


def activity_in(answer: str) -> str | None:
    """Returns the activity that a program reports outside of training; "" while it trains, None if it reports nothing.

    Args:
        answer: What its progress endpoint answered. The activity is not part of `Progress`: the status has only
            numbers.
    """
    try:
        raw = json.loads(answer)
        return text(raw.get("activity") or "").replace("\n", " ")[:_ACTIVITY_LENGTH]
    except UNREADABLE:
        return None
