"""What a page shows of a run on this machine, from its folder."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import yaml

from qtj.local.activity import activities_of
from qtj.local.follow import events_of
from qtj.report.results import RunResults, results_of
from qtj.report.stages import attempts_of, moments_of, stages_of
from qtj.report.training_record import training_record
from qtj.runs.folders import RecordedRun
from qtj.terminal.text import shell_word
from qtj_operator.api.job import main_container
from qtj_operator.api.names import KIND, NEWEST_API_VERSION
from qtj_report.content import Content, Repetition

__all__ = ["content_of", "details_of", "in_utc"]

_WIDTH = 100
"""Of the YAML of a job, in columns."""


def details_of(run: RecordedRun, now: datetime) -> Content:
    """Reads what a page shows of a run from its folder.

    Args:
        run: The run.
        now: The time, which is the end of an active run.
    """
    results, notes = results_of(run.folder.path, run.job), list[str]()
    status = results.status
    record = training_record(status.weights.uri if status.weights else None, notes)
    found = replace(content_of(results, run.job), record=record, notes=[*results.notes, *notes])
    if status.start_time is None:
        return found
    began = in_utc(status.start_time)
    end = in_utc(status.completion_time) if status.completion_time else _last_known(run, now)
    moments = moments_of(events_of(run.folder), activities_of(run.folder.path))
    return replace(
        found,
        began=began,
        seconds=max(0.0, (end - began).total_seconds()),
        stages=stages_of(began, moments, end),
        attempts=attempts_of(began, moments, end),
    )


def content_of(results: RunResults, job: Mapping[str, Any]) -> Content:
    """Returns what results and the job itself tell a page.

    Args:
        results: The results.
        job: The job, with its spec as its author wrote it.
    """
    status = results.status
    return Content(
        title=results.title,
        phase=results.phase,
        headline=results.headline,
        asked=status.progress.epochs if status.progress else None,
        epochs=results.epochs,
        metrics=results.metrics,
        measured_by=results.measured_by,
        predictions=results.predictions,
        failures=status.failures,
        replicas={role: each.desired for role, each in status.replicas.items()},
        resources=_requested(job),
        weights_sha256=(status.weights and status.weights.sha256) or "",
        repetition=_repetition(job),
    )


def _last_known(run: RecordedRun, now: datetime) -> datetime:
    return now if run.folder.is_active else datetime.fromtimestamp(run.folder.changed, UTC)


def in_utc(at: datetime) -> datetime:
    """Returns a time that may have been edited by hand, so that it can be compared."""
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _repetition(job: Mapping[str, Any]) -> Repetition:
    """Returns a job without what the API server and the operator have added, and the command that runs it."""
    meta = {key: job["metadata"][key] for key in ("name", "labels", "annotations") if key in job["metadata"]}
    manifest = {"apiVersion": NEWEST_API_VERSION, "kind": KIND, "metadata": meta, "spec": job["spec"]}
    file = f"{meta['name']}.yaml"
    text = yaml.safe_dump(manifest, sort_keys=False, width=_WIDTH, allow_unicode=True)
    return Repetition(file, f"qtj run {shell_word(file)}", text)


def _requested(job: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Returns requests and limits of a replica, as far as the template has them; the record may have been edited."""
    try:
        resources = main_container(job["spec"]["template"]["spec"]["containers"])["resources"]
        return {f"{kind} of a replica": dict(resources[kind]) for kind in ("requests", "limits") if kind in resources}
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return {}
