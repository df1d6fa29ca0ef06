"""`spec.stopping` of a study: which trials are stopped before their end."""

from enum import StrEnum
from typing import Self

from pydantic import ConfigDict, Field, StrictInt, model_validator

from qtj_operator.api.model import Model
from qtj_operator.api.rules import broken, cel

__all__ = ["EPOCH_METRICS", "EpochMetric", "Stopping", "StoppingRule"]

_MOST_EPOCHS = 1_000_000
_FACTOR = 3
_BRACKETS = 3


class StoppingRule(StrEnum):
    """How the trials to be stopped are chosen."""

    MEDIAN = "Median"
    SUCCESSIVE_HALVING = "SuccessiveHalving"
    HYPERBAND = "Hyperband"


class EpochMetric(StrEnum):
    """The numbers that a job reports after each epoch, by their names in a study."""

    LOSS = "loss"
    VAL_LOSS = "val_loss"
    ACCURACY = "accuracy"
    VAL_ACCURACY = "val_accuracy"

    @property
    def is_better_when_small(self) -> bool:
        """Whether a smaller value is better."""
        return self in {EpochMetric.LOSS, EpochMetric.VAL_LOSS}


EPOCH_METRICS = ", ".join(EpochMetric)
"""For a sentence."""


_NO_BRACKETS = "stopping.brackets is for the rule Hyperband: remove it, or write rule: Hyperband"
_BRACKETS_RULE = (f"!has(self.brackets) || self.rule == '{StoppingRule.HYPERBAND}'", _NO_BRACKETS)


class Stopping(Model):
    """Stops trials that are worse than others after as many epochs."""

    model_config = ConfigDict(json_schema_extra=cel(_BRACKETS_RULE))

    rule: StoppingRule = Field(
        description="Median stops a trial that is worse than the median of the others, once there are three. "
        "SuccessiveHalving keeps the best of each `factor` trials. Hyperband is successive halving in several "
        "brackets, of which each one lets its trials train for longer before it compares them.",
    )
    metric: EpochMetric | None = Field(
        None, description="What is compared: a number of an epoch. That of the objective when left out."
    )
    min_epochs: StrictInt | None = Field(
        None, description="After how many epochs trials are first compared. 1 when left out.", ge=1, le=_MOST_EPOCHS
    )
    factor: StrictInt | None = Field(
        None,
        description="Trials are compared again after this many times as many epochs. "
        f"{_FACTOR} when left out, so after 1, 3, 9 and 27 epochs.",
        ge=2,
        le=100,
    )

    brackets: StrictInt | None = Field(
        None,
        description="How many brackets Hyperband has. Trials of the first one are compared after `minEpochs` for the "
        f"first time, those of the next one after `factor` times as many. {_BRACKETS} when left out.",
        ge=2,
        le=10,
    )

    def rung(self, epoch: int, bracket: int = 0) -> int | None:
        """Returns the last number of epochs, up to this one, after which trials of a bracket are compared.

        Returns:
            None before the first.
        """
        factor = self.kept_of
        rung: int = (self.min_epochs or 1) * factor**bracket
        if epoch < rung:
            return None
        while rung * factor <= epoch:
            rung *= factor
        return rung

    @property
    def bracket_count(self) -> int:
        """In how many groups trials are compared."""
        return (self.brackets or _BRACKETS) if self.rule == StoppingRule.HYPERBAND else 1

    @model_validator(mode="after")
    def _has_brackets(self) -> Self:
        if self.brackets is not None and self.rule != StoppingRule.HYPERBAND:
            raise broken(_NO_BRACKETS)
        return self

    @property
    def kept_of(self) -> int:
        """Of how many trials successive halving keeps one."""
        return self.factor or _FACTOR
