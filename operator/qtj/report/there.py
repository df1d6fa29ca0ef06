"""`qtj report --cluster`: what a cluster knows of a job: its status, its events and its YAML.

The curves are on the page that the trainer has stored among the artifacts, which this command does not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from qtj.cluster.connection import on_cluster
from qtj.cluster.events import events_of_job
from qtj.cluster.jobs import job_named
from qtj.report.data import report_data
from qtj.report.details import content_of, in_utc
from qtj.report.files import chosen_page_written
from qtj.report.results import RunResults
from qtj.report.stages import Moment, attempts_of, moments_of, stages_of
from qtj.report.text import report_text
from qtj.runs.line_view import end_sentence
from qtj.terminal.output_format import OutputFormat, formatted
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase, Status
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Object
from qtj_report.content import Content
from qtj_report.page import run_page

__all__ = ["cluster_content", "cluster_results", "report_cluster_job"]

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
    found, events, now = on_cluster(partial(_read, job), namespace)
    results = cluster_results(found)
    if form:
        return formatted([report_data(results)], form, name=lambda each: each["run"])
    if html is None:
        return "\n".join(report_text(results))
    with chosen_page_written(html):
        html.write_text(run_page(cluster_content(found, events, now), now), "utf-8")
    return f"page: {html}"


async def _read(name: str, client: ApiClient, namespace: str) -> tuple[Object, Sequence[Object], datetime]:
    job = await job_named(client, (namespace, name))
    events = await events_of_job(client.transport, namespace, name)
    uid = job["metadata"]["uid"]  # events of an earlier job of this name may still be there
    return job, [each for each in events if each["involvedObject"].get("uid") == uid], client.now()


def cluster_results(job: Object) -> RunResults:
    """Returns the results of a job that its status has."""
    status = read_status(job)
    return RunResults(
        title=job["metadata"]["name"],
        phase=status.phase or Phase.PENDING,
        headline=end_sentence(job),
        status=status,
        metrics=(status.inference and status.inference.metrics) or {},
        notes=[f"curves and predictions: {status.report}"] if status.report else [],
    )


def cluster_content(job: Object, events: Sequence[Object], now: datetime) -> Content:
    """Returns what the page shows of a job.

    Args:
        job: The job.
        events: The events of the job itself.
        now: The time, by the clock of the API server.
    """
    results = cluster_results(job)
    status, found = results.status, replace(content_of(results, _as_written(job)), notes=results.notes)
    if status.start_time is None:
        return found
    began = in_utc(status.start_time)
    end = in_utc(status.completion_time) if status.completion_time else now
    found = replace(found, began=began, seconds=max(0.0, (end - began).total_seconds()))
    moments = moments_of(events, ())
    if not _are_complete(moments, status):
        gone = "the API server has deleted the first events, so time by stage and attempts are not shown"
        return replace(found, notes=[*results.notes, gone])
    return replace(found, stages=stages_of(began, moments, end), attempts=attempts_of(began, moments, end))


def _are_complete(moments: Sequence[Moment], status: Status) -> bool:
    """Returns whether the first events are known: by default, an API server keeps events for one hour."""
    if not moments:
        return False
    return status.first_running_time is None or moments[0].time <= in_utc(status.first_running_time) + _ROUNDED


def _as_written(job: Object) -> Mapping[str, Any]:
    """Returns the job without what kubectl notes in it about the last file that was applied."""
    meta = dict(job["metadata"])
    kept = dict(_without_kubectl(meta.pop("annotations", None) or {}))
    return {**job, "metadata": {**meta, **({"annotations": kept} if kept else {})}}


def _without_kubectl(annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in annotations.items():
        if not name.startswith("kubectl.kubernetes.io/"):
            yield name, value
