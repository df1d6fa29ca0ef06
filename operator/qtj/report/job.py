"""What a report shows of a job itself and of its events, on this machine and on a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import yaml

from qtj.local.hidden import shown
from qtj.report.stages import Moment, attempts_of, stages_of
from qtj.runs.summary import step_text
from qtj.terminal.text import shell_word
from qtj_operator.api.job import main_container
from qtj_operator.api.names import KIND, NEWEST_API_VERSION
from qtj_operator.api.status import ProgressStatus, Status
from qtj_operator.core.step_times import straggler_text
from qtj_report.content import Content, Repetition

__all__ = ["in_utc", "job_content", "with_course"]

_WIDTH = 100
"""Of the YAML of a job, in columns."""


def job_content(title: str, phase: str, headline: str, job: Mapping[str, Any], status: Status) -> Content:
    """Returns what a job itself tells.

    Args:
        title: Its name, with the number of its run if it has one.
        phase: Its phase, or Interrupted.
        headline: How it ended, or its current state.
        job: The job, with its spec as its author wrote it.
        status: Its status.
    """
    progress = status.progress or ProgressStatus(epoch=0)
    inferred = (status.inference and status.inference.metrics) or {}
    return Content(
        title=title,
        phase=phase,
        headline=headline,
        asked=progress.epochs or None,
        done=progress.epoch,
        last_loss=progress.loss,
        kept_epoch=(status.weights and progress.best_epoch) or None,
        step=step_text(status.steps),
        stragglers=[straggler_text(each) for each in (status.steps.stragglers if status.steps else ())],
        metrics=inferred or status.metrics or {},
        measured_by="inference" if inferred else "training",
        failures=status.failures,
        replicas={role: each.desired for role, each in status.replicas.items()},
        resources=_requested(job),
        weights_sha256=(status.weights and status.weights.sha256) or "",
        repetition=_repetition(job),
    )


def with_course(found: Content, status: Status, moments: Sequence[Moment], end: datetime) -> Content:
    """Adds when a job began, how long it took, and its stages and attempts.

    Args:
        found: What else is known of it.
        status: Its status.
        moments: What happened, in order; without any, neither stages nor attempts are known.
        end: The time up to which it is known, if it has not ended.
    """
    if status.start_time is None:
        return found
    began = in_utc(status.start_time)
    end = in_utc(status.completion_time) if status.completion_time else end
    return replace(
        found,
        began=began,
        seconds=max(0.0, (end - began).total_seconds()),
        stages=stages_of(began, moments, end),
        attempts=attempts_of(began, moments, end) or found.attempts,
    )


def in_utc(at: datetime) -> datetime:
    """Returns a time that may have been edited by hand, so that it can be compared."""
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _repetition(job: Mapping[str, Any]) -> Repetition:
    """Returns a job without what the API server and the operator have added, and the command that runs it."""
    job = shown(job)
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
