"""Everything that a page shows of one run: its results, and how it was run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from qtj.local.activity import activities_of
from qtj.local.follow import events_of
from qtj.report.results import RunResults, results_of
from qtj.report.stages import Attempt, Stage, attempts_of, moments_of, stages_of
from qtj.report.throughput import steady_epochs, throughput
from qtj.report.training_record import TrainingRecord, training_record
from qtj.runs.folders import RecordedRun
from qtj_operator.api.names import KIND, NEWEST_API_VERSION

__all__ = ["RunDetails", "details_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """A run as a page shows it.

    Attributes:
        results: Its results.
        manifest: The job as its author wrote it.
        record: The record that the trainer has stored beside the weights.
        began: When the operator started the job; None if it has not.
        seconds: From then to its end, or until now for a run that is active; None where it is not known.
        stages: How this time was spent; empty where it is not known.
        attempts: The attempts of its training; empty where they are not known.
        notes: Sentences about data that are in another place or cannot be read.
    """

    results: RunResults
    manifest: Mapping[str, Any]
    record: TrainingRecord
    began: datetime | None = None
    seconds: float | None = None
    stages: Sequence[Stage] = ()
    attempts: Sequence[Attempt] = ()
    notes: Sequence[str] = ()

    @property
    def examples_per_second(self) -> float | None:
        """The throughput of its training."""
        steady = steady_epochs(self.results.epochs)
        return throughput(steady) if steady else None


def details_of(run: RecordedRun, now: datetime) -> RunDetails:
    """Reads what a page shows of a run from its folder.

    Args:
        run: The run.
        now: The time, which is the end of an active run.
    """
    results, notes = results_of(run.folder.path, run.job), list[str]()
    status = results.status
    record = training_record(status.weights.uri if status.weights else None, notes)
    details = RunDetails(results=results, manifest=_manifest(run.job), record=record, notes=[*results.notes, *notes])
    if status.start_time is None:
        return details
    began = _in_utc(status.start_time)
    end = _in_utc(status.completion_time) if status.completion_time else _last_known(run, now)
    moments = moments_of(events_of(run.folder), activities_of(run.folder.path))
    return replace(
        details,
        began=began,
        seconds=max(0.0, (end - began).total_seconds()),
        stages=stages_of(began, moments, end),
        attempts=attempts_of(began, moments, end),
    )


def _last_known(run: RecordedRun, now: datetime) -> datetime:
    return now if run.folder.is_active else datetime.fromtimestamp(run.folder.changed, UTC)


def _in_utc(at: datetime) -> datetime:
    """Returns a time that may have been edited by hand, so that it can be compared."""
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _manifest(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a job without what the API server and the operator have added."""
    meta = {key: job["metadata"][key] for key in ("name", "labels", "annotations") if key in job["metadata"]}
    return {"apiVersion": NEWEST_API_VERSION, "kind": KIND, "metadata": meta, "spec": job["spec"]}
