"""Several jobs, a row for each: the table of `qtj top`."""

from collections.abc import Sequence

from qtj.monitor.snapshot import Snapshot
from qtj.runs.summary import epoch_text, loss_text
from qtj_report.sparkline import sparkline

__all__ = ["JOB_HEADINGS", "job_cells", "share_done"]

_CURVE = 16
_PLAIN = {"Running", "Complete"}
JOB_HEADINGS = ("JOB", "PHASE", "REASON", "READY", "EPOCH", "LOSS", "LOSS CURVE", "TIME LEFT", "RESTARTS", "AGE")


def job_cells(seen: Snapshot) -> Sequence[str]:
    """Returns the row of a job, below `JOB_HEADINGS`."""
    restarts = seen.status.get("restarts", 0) + seen.status.get("disruptions", 0)
    return (
        seen.name,
        seen.phase,
        _reason(seen),
        seen.status.get("ready") or "-",
        epoch_text(seen.progress) or "-",
        loss_text(seen.progress) or "-",
        (sparkline(seen.losses, _CURVE) if len(seen.losses) > 1 else "") or "-",
        seen.left.removesuffix(" left") or "-",
        str(restarts),
        seen.age,
    )


def _reason(seen: Snapshot) -> str:
    """Returns why it waits or has failed; the reason of one that runs or is done says no more than its phase."""
    reason = "" if seen.phase in _PLAIN else seen.status.get("reason")
    return reason or "-"


def share_done(seen: Snapshot) -> float:
    """Returns how much of the training is done, from 0 to 1; 0 where that is not known."""
    progress = seen.progress
    done, wanted = (progress.get("step"), progress.get("steps")) if progress.get("steps") else (None, None)
    if not wanted:
        done, wanted = progress.get("epoch"), progress.get("epochs")
    return min((done or 0) / wanted, 1.0) if wanted else 0.0
