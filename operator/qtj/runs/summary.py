"""Parts of `qtj list` and `qtj status`: phase, epoch and loss of a run, and when it began."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from qtj.local.history import phase_of
from qtj.local.progress_log import progress_history
from qtj.runs.folders import RecordedRun
from qtj.runs.status_text import STOPPING
from qtj_contract.digits import in_digits
from qtj_operator.api.status import StepsStatus

__all__ = [
    "age_of",
    "age_text",
    "began",
    "epoch_and_loss",
    "epoch_text",
    "known_progress",
    "loss_text",
    "shown_phase",
    "step_text",
]


def epoch_and_loss(run: RecordedRun) -> tuple[str, str]:
    """Returns epoch and loss as text, empty where nothing is known."""
    progress = known_progress(run)
    return epoch_text(progress), loss_text(progress)


def known_progress(run: RecordedRun) -> Mapping[str, Any]:
    """Returns the progress of a run: as polled, or as recorded since."""
    status = run.job.get("status") or {}
    progress: Mapping[str, Any] = status.get("progress") or {}
    with suppress(OSError):
        last = progress_history(run.folder.path).epochs[-1:]
        is_of_now = last and last[0].attempt == status.get("attempt", 1)  # an attempt after a restart repeats epochs
        if last and (is_of_now or not progress) and last[0].number > progress.get("epoch", 0):
            progress = {"epochs": progress.get("epochs"), "epoch": last[0].number, "loss": last[0].loss}
    return progress


def epoch_text(progress: Mapping[str, Any]) -> str:
    """Returns the epoch, with the number of epochs if that is known; empty where nothing is known."""
    done = str(progress.get("epoch", 0)) if progress else ""
    return f"{done}/{progress['epochs']}" if progress.get("epochs") else done


def loss_text(progress: Mapping[str, Any]) -> str:
    """Returns the loss; empty where it is not known."""
    return in_digits(progress["loss"]) if progress.get("loss") is not None else ""


def step_text(steps: StepsStatus | None) -> str:
    """Returns how long a step takes, and the part of its replicas; empty where it is not known."""
    if steps is None:
        return ""
    least, most = in_digits(steps.least_own_seconds), in_digits(steps.most_own_seconds)
    own = f", of which a replica needs {least} to {most} s for its own part" if steps.replicas > 1 else ""
    return f"{in_digits(steps.seconds)} s{own}"


def shown_phase(run: RecordedRun) -> str:
    if not run.is_readable:
        return "unreadable"
    if run.folder.is_active and run.folder.is_to_stop:
        return STOPPING.capitalize()
    return phase_of(run.job, is_active=run.folder.is_active)


def began(job: Mapping[str, Any]) -> str:
    """Returns how long ago a job began, for people."""
    age = age_of(job, datetime.now(UTC))
    return "-" if age is None else f"{age_text(age)} ago"


def age_of(job: Mapping[str, Any], now: datetime) -> timedelta | None:
    """Returns the time since a job began; None if its record was edited, and that is not known any more."""
    began = (job.get("status") or {}).get("startTime") or job["metadata"].get("creationTimestamp")
    try:
        return now - datetime.fromisoformat(began)
    except (TypeError, ValueError):
        return None


def age_text(age: timedelta) -> str:
    """Returns a duration in its largest unit, as kubectl does: 24s, 5m, 3h, 12d."""
    seconds = max(int(age.total_seconds()), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
