"""What a program has to do with the thing it trains, whatever framework that is of."""

from typing import Any, Protocol

from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.run.training import Numbers

__all__ = ["REMEDY", "Adapter"]

REMEDY = "lower the optimizer's learning rate, or look for such numbers in the data"
"""What helps against training that diverges."""


class Adapter(Numbers, Protocol):
    """A model, or a state, as `Program` sees it; to `Checkpoints`, what is trained."""

    suffix: str
    """Of the file of its weights."""

    @property
    def name(self) -> str:
        """What kind of thing this is."""

    def fingerprint(self, options: Any) -> str:  # noqa: ANN401  an instance of its own options
        """Returns a digest of its structure."""

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the checkpoint from which all processes go on, the same in each.

        Raises:
            UserError: If one of them does not find it.
        """

    def warn_if_unchanged(self) -> None:
        """Says in the log if nothing of it has changed since this was made."""

    def dump(self) -> bytes:
        """Encodes the weights; equal weights give equal bytes."""

    def load(self, data: bytes, *, otherwise: str) -> Any:  # noqa: ANN401  what was given to the program
        """Puts encoded weights back.

        Args:
            data: What `dump` has returned.
            otherwise: What to say when they are of another structure, as the first half of a sentence.

        Returns:
            The thing with these weights, to be used from now on.

        Raises:
            UserError: If they are of another structure.
        """

    def farewell(self, cluster: Cluster) -> None:
        """Lets all processes leave together: one that left early would end those that wait for it."""
