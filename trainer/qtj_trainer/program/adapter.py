"""What a program does with the model or state that it trains, in any framework."""

from typing import Any, Protocol

from qtj_trainer.replica.training import Numbers
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.stored.checkpoints import Checkpoint, Checkpoints

__all__ = ["REMEDY", "Adapter"]

REMEDY = "lower the optimizer's learning rate, or look for such numbers in the data"
"""What helps against training that diverges."""


class Adapter(Numbers, Protocol):
    """The model or state of a `Program`; for `Checkpoints`, it is what is trained."""

    suffix: str
    """Suffix of the file of its weights."""

    @property
    def name(self) -> str:
        """What kind of thing this is."""

    def fingerprint(self, options: Any) -> str:
        """Returns a digest of its structure."""

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the checkpoint from which all processes continue. It is the same in each of them.

        Raises:
            UserError: If a process does not find it.
        """

    def read_together(self) -> None:
        """Prepares `state`: reads what takes all processes to read. Each of them calls it at the same position."""

    def warn_if_unchanged(self) -> None:
        """Logs a warning if nothing has changed since this object was created."""

    def dump(self) -> bytes:
        """Encodes the weights; equal weights give equal bytes. All processes call it, each with its own weights."""

    def load(self, data: bytes, *, otherwise: str) -> Any:
        """Restores encoded weights.

        Args:
            data: What `dump` returned.
            otherwise: First half of the error message, for weights of another structure.

        Returns:
            The model or state with these weights. Use it from now on.

        Raises:
            UserError: If the weights have another structure.
        """

    def leave_together(self, cluster: Cluster) -> None:
        """Waits until all processes can end. One that ended early would make the waiting ones fail."""
