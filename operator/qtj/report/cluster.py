"""`qtj report --cluster`: what a cluster knows of a job, and what the job has stored, if the user may read it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from qtj.cluster.connection import job_named, on_cluster
from qtj.cluster.request import events_of_job
from qtj.report.files import write_named
from qtj.report.job import Moment, in_utc, job_content, moments_of, with_course
from qtj.report.stored import read_any
from qtj.runs.line_view import end_sentence
from qtj.terminal.output_format import OutputFormat, formatted
from qtj_contract.run_name import report_path, run_name
from qtj_operator.api.artifacts import ReusePolicy
from qtj_operator.api.digest import training_id
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase, Status
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Object
from qtj_report.artifacts import NoAccessError, Read, attempts_in, file_of, with_artifacts, with_programs
from qtj_report.content import Content
from qtj_report.page import run_page
from qtj_report.text import report_data, report_text

__all__ = ["cluster_content", "content_on_cluster", "read_cluster_job", "report_cluster_job"]

_STORED = "curves, options, circuit and predictions"
_ROUNDED = timedelta(seconds=2)
"""How much later than it happened an event may be written."""


def report_cluster_job(job: str, namespace: str | None, html: Path | None, form: OutputFormat | None) -> str:
    """Returns the report of a job, or writes its page.

    Args:
        job: Its name.
        namespace: Its namespace; None for that of the current context.
        html: Where the page is written; None for a report as text.
        form: The form for programs; None for text.

    Raises:
        InputError: There is no such job or no cluster, the API server refuses, or the page cannot be written.
    """
    found, now = content_on_cluster(job, namespace)
    if form:
        return formatted([report_data(found)], form, name=lambda each: each["run"])
    if html is None:
        return "\n".join(report_text(found))
    write_named(run_page(found, now), html)
    return f"page: {html}"


def content_on_cluster(job: str, namespace: str | None) -> tuple[Content, datetime]:
    """Returns what a report shows of a job, by the rights of the user; and the time of the cluster.

    Raises:
        InputError: As in `report_cluster_job`.
    """
    raw, events, now = read_cluster_job(job, namespace)
    return cluster_content(raw, events, now, read_any), now


def read_cluster_job(job: str, namespace: str | None) -> tuple[Object, Sequence[Object], datetime]:
    """Returns a job, its events, and the time of the cluster.

    Raises:
        InputError: As in `report_cluster_job`.
    """

    async def read(client: ApiClient, where: str) -> tuple[Object, Sequence[Object], datetime]:
        found = await job_named(client, (where, job))
        events = await events_of_job(client.transport, where, job)
        uid = found["metadata"]["uid"]  # events of an earlier job of this name may still be there
        return found, [each for each in events if each["involvedObject"].get("uid") == uid], client.now()

    return on_cluster(read, namespace)


def cluster_content(job: Object, events: Sequence[Object], now: datetime, read: Read) -> Content:
    """Returns what a report shows of a job.

    Args:
        job: The job.
        events: The events of the job itself.
        now: The time, by the clock of the API server.
        read: Reads its artifacts.
    """
    status = read_status(job)
    name, phase = job["metadata"]["name"], status.phase or Phase.PENDING
    found = _with_stored(job_content(name, phase, end_sentence(job), _as_written(job), status), job, status, read)
    moments = moments_of(events, ())
    if status.start_time is None or _are_complete(moments, status):
        return with_course(found, status, moments, now)
    gone = "the API server has deleted the first events, so the time by stage and what ended attempts are not shown"
    return with_course(replace(found, notes=[*found.notes, gone]), status, (), now)


def _with_stored(found: Content, job: Object, status: Status, read: Read) -> Content:
    """Adds what the job has stored; a note says where it is if it cannot be read."""
    address = _epochs_address(job, status)
    try:
        stored = read(address) if status.attempt else None
    except (NoAccessError, OSError) as problem:
        return replace(found, notes=[f"{_STORED} are not shown: {problem}"])
    if stored is None and status.attempt and (status.report or file_of(address)):
        return replace(found, notes=[f"{_STORED} are not on this machine: {status.report or address}"])
    lines = (stored or b"").decode(errors="replace")
    attempts = list(attempts_in(lines, is_trained=status.weights is not None))
    found = with_artifacts(replace(found, attempts=attempts), lines, status.weights.uri if status.weights else "", read)
    return with_programs(found, job["spec"]["artifacts"]["uri"].rstrip("/"), read, [_training_id(job, status)])


def _epochs_address(job: Object, status: Status) -> str:
    """Returns where the trainer stores the epochs of a job: beside its page, or where that will be."""
    if status.report:
        return f"{status.report.removesuffix('.html')}.jsonl"
    artifacts = job["spec"]["artifacts"]["uri"].rstrip("/")
    return f"{artifacts}/{report_path(run_name(job['metadata']['name'], _training_id(job, status)), '.jsonl')}"


def _training_id(job: Object, status: Status) -> str:
    """Returns `QTJ_JOB_UID` of its replicas."""
    meta = job["metadata"]
    if job["spec"]["artifacts"].get("reusePolicy") == ReusePolicy.SAME_SPEC:
        return training_id(meta["namespace"], meta["name"], status.spec_digest or "")
    return str(meta["uid"])


def _are_complete(moments: Sequence[Moment], status: Status) -> bool:
    """Returns whether the first events are known: by default, an API server keeps events for one hour."""
    if not moments:
        return False
    return status.first_running_time is None or moments[0].time <= in_utc(status.first_running_time) + _ROUNDED


def _as_written(job: Object) -> Mapping[str, Any]:
    """Returns the job without what kubectl notes in it about the last file that was applied."""
    meta = dict(job["metadata"])
    annotations: Mapping[str, str] = meta.pop("annotations", None) or {}
    kept = {name: value for name, value in annotations.items() if not name.startswith("kubectl.kubernetes.io/")}
    return {**job, "metadata": {**meta, **({"annotations": kept} if kept else {})}}
