"""`qtj status`: everything about one run."""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj.local.follow import events_of
from qtj.local.history import INTERRUPTED
from qtj.runs.folders import PAGE, RecordedRun
from qtj.runs.status_text import STOPPING, phase_message
from qtj.runs.summary import began, epoch_and_loss, shown_phase
from qtj_operator.api.status import Phase

__all__ = ["describe"]

_EVENTS = 5
_WHY = {
    INTERRUPTED: "qtj run ended before the job did",
    STOPPING.capitalize(): "its programs were asked to end, and have not ended yet",
}


def describe(run: RecordedRun) -> str:
    """Returns lines with the phase of a run and its reason, its progress, and its paths."""
    return "\n".join(f"{name:<11} {value}" for name, value in _facts(run))


def _facts(run: RecordedRun) -> Iterator[tuple[str, str]]:
    status = run.job.get("status") or {}
    phase, (epoch, loss) = shown_phase(run), epoch_and_loss(run)
    yield "run", run.name
    yield "phase", phase
    if why := _why(phase, status):
        yield "why", why
    yield "began", began(run.job)
    if epoch:
        yield "epoch", epoch
    if loss:
        yield "loss", loss
    if evaluation := status.get("evaluation"):
        yield "evaluated", _evaluated(evaluation)
    if status.get("attempt", 1) > 1:
        yield "attempt", str(status["attempt"])
    if weights := status.get("weights"):
        yield "weights", weights["uri"]
    for name, value in ((status.get("inference") or {}).get("metrics") or {}).items():
        yield name, f"{value:.4g}"
    yield from _places(run)
    for event in events_of(run.folder)[-_EVENTS:]:
        yield "event", f"{event['reason']}: {event['message']}"
    yield "next", _next(run, phase)


def _places(run: RecordedRun) -> Iterator[tuple[str, str]]:
    yield "folder", str(run.folder.path)
    if (report := run.folder.path / PAGE).is_file():
        yield "report", str(report)
    if run.folder.bucket:
        yield "artifacts", run.folder.bucket


def _why(phase: str, status: Mapping[str, Any]) -> str:
    """Returns why the job has its phase. A run that was stopped is suspended, and not interrupted."""
    if phase == INTERRUPTED and status.get("phase") == Phase.SUSPENDED:
        return "it was stopped, by Ctrl-C or qtj stop"
    return _WHY.get(phase) or phase_message(status)


def _evaluated(evaluation: Mapping[str, Any]) -> str:
    """Returns the last result of the evaluator."""
    measured = {"validation loss": evaluation.get("validationLoss"), "accuracy": evaluation.get("accuracy")}
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in measured.items() if value is not None)
    step = f", step {evaluation['step']}" if evaluation.get("step") else ""
    return f"epoch {evaluation['epoch']}{step}" + (f": {numbers}" if numbers else "")


def _next(run: RecordedRun, phase: str) -> str:
    if run.folder.is_active:
        return f"qtj attach {run.name}, qtj stop {run.name}"
    if phase == "Complete":
        return f"qtj report {run.name}"
    return f"qtj logs {run.name}; qtj run FILE --resume continues the last run of a job"
