"""How many restarts count against `backoffLimit`."""

from qtj_operator.core.change import StatusChange
from qtj_operator.core.observed import Observed

__all__ = ["counted_restarts", "since_checkpoint"]


def counted_restarts(seen: Observed) -> int:
    """Returns the restarts so far: of the whole job, or since the last new checkpoint."""
    if not seen.job.counts_per_checkpoint:
        return seen.restarts
    return 0 if _advanced(seen) else seen.job.status.restarts_since_checkpoint or 0


def since_checkpoint(seen: Observed, restarts: int) -> StatusChange:
    """Returns the change of the count since the last checkpoint after some more restarts."""
    before = seen.job.status.restarts_since_checkpoint or 0
    if _advanced(seen):
        return StatusChange(restarts_since_checkpoint=restarts or None, checkpoint_step=_stored(seen))
    return StatusChange(restarts_since_checkpoint=before + restarts or None)


def _advanced(seen: Observed) -> bool:
    return _stored(seen) > (seen.job.status.checkpoint_step or 0)


def _stored(seen: Observed) -> int:
    """Returns the optimizer step of the last checkpoint, as the program reported it last."""
    progress = seen.progress or seen.job.status.progress
    return (progress.checkpoint_step if progress else None) or 0
