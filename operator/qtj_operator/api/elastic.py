"""`spec.runPolicy.elastic`: the number of workers follows the places that the cluster has."""

from pydantic import Field, StrictInt

from qtj_operator.api.defaults import LONGEST
from qtj_operator.api.model import Model
from qtj_operator.api.names import MAX_REPLICAS

__all__ = ["Elastic"]

_DOWN_AFTER = 120
_UP_AFTER = 600


class Elastic(Model):
    """How few and how many workers train, and how soon their number changes."""

    min_replicas: StrictInt = Field(
        description="The fewest workers that train. With fewer places, the job waits.", ge=1, le=MAX_REPLICAS
    )
    max_replicas: StrictInt | None = Field(
        None,
        description="The most workers that train, if the cluster has places for more than `replicas` of Worker. As "
        "many as that when left out.",
        ge=1,
        le=MAX_REPLICAS,
    )
    scale_down_after_seconds: StrictInt | None = Field(
        None,
        description="Training goes on with fewer workers when a place has been missing for this long since the loss "
        f"was seen. {_DOWN_AFTER} when left out. A cluster that adds nodes by itself needs longer than that takes.",
        ge=10,
        le=LONGEST,
    )
    scale_up_after_seconds: StrictInt | None = Field(
        None,
        description="How long the number of workers stays, before places for more are looked for. "
        f"{_UP_AFTER} when left out.",
        ge=10,
        le=LONGEST,
    )

    @property
    def down_after(self) -> int:
        """After how many seconds without a place training goes on with fewer workers."""
        return _DOWN_AFTER if self.scale_down_after_seconds is None else self.scale_down_after_seconds

    @property
    def up_after(self) -> int:
        """For how many seconds a number of workers stays, before places for more are looked for."""
        return _UP_AFTER if self.scale_up_after_seconds is None else self.scale_up_after_seconds

    def most(self, replicas: int) -> int:
        """Returns how many workers train at most.

        Args:
            replicas: How many the spec asks for.
        """
        return replicas if self.max_replicas is None else self.max_replicas

    def allows(self, workers: int, replicas: int) -> bool:
        """Tells whether so many workers may train.

        Args:
            workers: The number in question.
            replicas: How many the spec asks for.
        """
        return self.min_replicas <= workers <= self.most(replicas)
