"""`spec.stopping` of a study: which trials are stopped before their end."""

from enum import StrEnum

from pydantic import Field, StrictInt

from qtj_operator.api.model import Model

__all__ = ["EPOCH_METRICS", "EpochMetric", "Stopping", "StoppingRule"]

_MOST_EPOCHS = 1_000_000
_FACTOR = 3


class StoppingRule(StrEnum):
    """How the trials to be stopped are chosen."""

    MEDIAN = "Median"
    SUCCESSIVE_HALVING = "SuccessiveHalving"


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


class Stopping(Model):
    """Stops trials that are worse than others after as many epochs."""

    rule: StoppingRule = Field(
        description="Median stops a trial that is worse than the median of the others, once there are three. "
        "SuccessiveHalving keeps the best of each `factor` trials.",
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

    def rung(self, epoch: int) -> int | None:
        """Returns the last number of epochs, up to this one, after which trials are compared; None before the first."""
        rung, factor = self.min_epochs or 1, self.kept_of
        if epoch < rung:
            return None
        while rung * factor <= epoch:
            rung *= factor
        return rung

    @property
    def kept_of(self) -> int:
        """Of how many trials successive halving keeps one."""
        return self.factor or _FACTOR
