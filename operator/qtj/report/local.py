"""What a report shows of a run on this machine, from its folder; and its page there."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qtj.local.activity import activities_of
from qtj.local.folder import Folder
from qtj.local.follow import events_of
from qtj.local.history import INTERRUPTED, History, phase_of
from qtj.local.progress_log import recorded_lines
from qtj.report.job import job_content, moments_of, with_course
from qtj.report.stored import read_file
from qtj.runs.folders import PAGE, RecordedRun
from qtj.runs.line_view import end_sentence
from qtj_contract import TerminationMessage
from qtj_contract.whole_file import read_regular, write_whole
from qtj_operator.api.digest import training_id
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import FINISHED, Status
from qtj_operator.controller.client import Object
from qtj_report.artifacts import file_of, with_artifacts, with_programs
from qtj_report.comparison_page import comparison_page
from qtj_report.content import Content
from qtj_report.page import run_page

__all__ = ["page_at_end", "page_of", "run_content"]

_RESULT = "result.json"


def run_content(run: RecordedRun, now: datetime) -> Content:
    """Reads what a report shows of a run from its folder.

    Args:
        run: The run.
        now: The time, which is the end of an active run.
    """
    folder, status, notes = run.folder.path, read_status(run.job), list[str]()
    found = _of_job(run, status)
    lines = _lines(folder, notes)
    metrics = found.metrics or _result(folder, _owners(run.job["metadata"], status), notes)
    weights = status.weights.uri if status.weights else ""
    found = with_artifacts(replace(found, metrics=metrics, notes=notes), lines, weights, read_file)
    record = replace(found.record, weights_bytes=_size(weights))
    owners = _owners(run.job["metadata"], status)
    found = with_programs(replace(found, record=record), folder.absolute().as_uri(), read_file, owners)
    end = now if run.folder.is_active else datetime.fromtimestamp(run.folder.changed / 1e9, UTC)
    return with_course(found, status, moments_of(events_of(run.folder), activities_of(folder)), end)


def _of_job(run: RecordedRun, status: Status) -> Content:
    folder, name = run.folder.path, run.job["metadata"]["name"]
    title = f"{name}/{folder.name}" if folder.name.isdecimal() and folder.parent.name == name else name
    phase = phase_of(run.job, is_active=run.folder.is_active)
    ended = end_sentence({"metadata": {"name": name}, "status": status.to_dict()})
    return job_content(title, phase, f"{name} was interrupted" if phase == INTERRUPTED else ended, run.job, status)


def _lines(folder: Path, notes: list[str]) -> str:
    try:
        return recorded_lines(folder)
    except OSError as problem:
        notes.append(f"the epochs cannot be read from {problem.filename} ({problem.strerror})")
        return ""


def _owners(meta: Mapping[str, Any], status: Status) -> Collection[str | None]:
    """Returns the values of `QTJ_JOB_UID` in a result of the job; None stands for an earlier trainer."""
    same_spec = training_id(meta["namespace"], meta["name"], status.spec_digest or "")
    return (None, meta.get("uid"), same_spec)


def _result(folder: Path, owners: Collection[str | None], notes: list[str]) -> Mapping[str, float]:
    """Returns the metrics of result.json, which is on this machine unless the artifacts are in a bucket."""
    try:
        text = read_regular(folder / _RESULT).decode(errors="replace")
    except FileNotFoundError:
        return {}
    except OSError as problem:
        notes.append(f"the metrics of the training cannot be read from {folder / _RESULT} ({problem.strerror})")
        return {}
    result = _without_weights(text)
    message = TerminationMessage.parse(json.dumps(result))
    if result is None or message is None:
        notes.append(f"the metrics of the training cannot be read: {folder / _RESULT} is not the result of a training")
        return {}
    # Another job that used the same folder may have written it.
    return message.metrics if result.get("jobUid") in owners else {}


def _without_weights(text: str) -> dict[str, Any] | None:
    """Returns a result without weights that have a relative address, because no termination message has them."""
    try:
        return {name: value for name, value in json.loads(text).items() if name != "weights"}
    except (ValueError, AttributeError, RecursionError):
        return None


def _size(weights: str) -> int | None:
    path = file_of(weights)
    try:
        return path.stat().st_size if path else None
    except OSError:
        return None


def page_of(found: Sequence[Content], now: datetime) -> str:
    """Returns the page of a run, or one that compares several runs."""
    return run_page(found[0], now) if len(found) == 1 else comparison_page(found, now)


def page_at_end(folder: Folder, job: Object) -> str:
    """Writes the page of a job that has just finished; returns where it is or why there is none.

    Args:
        folder: The folder of its run.
        job: The job at its end. If it was only interrupted, no page is written yet.
    """
    if (job.get("status") or {}).get("phase") not in FINISHED or not folder.is_used:
        return ""
    path = folder.path / PAGE
    name = History().name_of(job["metadata"]["name"], folder)
    try:
        now = datetime.now(UTC)
        write_whole(path, page_of([run_content(RecordedRun(name, folder, dict(job)), now)], now).encode())
    except OSError as problem:
        return f"cannot write {path} ({problem.strerror}): free space on the disk, then run `qtj report {name}`"
    return f"report: {path}"
