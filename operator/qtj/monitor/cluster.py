"""`qtj status`, `top`, `logs` and `events` of jobs of a cluster."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from qtj.cluster.connection import job_named, on_cluster
from qtj.cluster.request import events_in, events_of_job
from qtj.monitor.cluster_logs import copy_cluster_logs
from qtj.monitor.cluster_source import ClusterSource
from qtj.monitor.facts import events_about
from qtj.monitor.show import EventsSeen, show_events, show_jobs, show_status
from qtj.terminal.output_format import OutputFormat
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import FINISHED
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Object

__all__ = ["show_cluster_events", "show_cluster_jobs", "show_cluster_logs", "show_cluster_status"]

_LAST_EVENTS = timedelta(seconds=5)
"""How long after the end of a job its last events may be written: the operator writes the status first."""


def show_cluster_status(job: str, namespace: str | None, form: OutputFormat | None, *, follow: bool) -> int:
    """Shows a job; returns the exit code.

    Args:
        job: Its name.
        namespace: Its namespace; None for that of the current context, here and below.
        form: The form for programs; None for text.
        follow: Whether to follow it until it has finished.

    Raises:
        InputError: There is no such job or no cluster, or the API server refuses.
    """

    async def show(client: ApiClient, where: str) -> int:
        source = ClusterSource(client, client.now, where, [job], partial(events_of_job, client.transport))
        return await show_status(source, form, follow=follow)

    return on_cluster(show, namespace)


def show_cluster_jobs(
    jobs: Sequence[str], namespace: str | None, form: OutputFormat | None, *, all_namespaces: bool
) -> None:
    """Shows jobs, or all jobs of a namespace, or of all namespaces.

    Raises:
        InputError: As in `show_cluster_status`.
    """

    async def show(client: ApiClient, where: str) -> None:
        source = ClusterSource(client, client.now, None if all_namespaces else where, jobs)
        empty = "no job is on the cluster" if all_namespaces else f"no job is in namespace {where}"
        await show_jobs(source, form, f"{empty}: kubectl apply -f FILE creates one")

    on_cluster(show, namespace)


def show_cluster_events(job: str, namespace: str | None, form: OutputFormat | None, *, follow: bool) -> None:
    """Prints the events of a job and its children.

    Raises:
        InputError: As in `show_cluster_status`.
    """

    async def show(client: ApiClient, where: str) -> None:
        async def look() -> EventsSeen:
            found = await job_named(client, (where, job))
            events = events_about(found, await events_in(client.transport, where))
            return EventsSeen(events, client.now(), _is_over(found, client.now()))

        empty = f"{job} has no events: the API server keeps them for one hour, unless it is configured otherwise"
        await show_events(look, form, empty, follow=follow)

    on_cluster(show, namespace)


def show_cluster_logs(
    job: str, replica: str | None, namespace: str | None, form: OutputFormat | None, *, follow: bool
) -> None:
    """Writes the logs of a job.

    Raises:
        InputError: As in `show_cluster_status`; or there is no such log.
    """

    async def show(client: ApiClient, where: str) -> None:
        await copy_cluster_logs(client, (where, job), replica, follow=follow, form=form)

    on_cluster(show, namespace)


def _is_over(job: Object, now: datetime) -> bool:
    """Tells whether a job has finished, and its last events are written."""
    status = read_status(job)
    return status.phase in FINISHED and (status.completion_time is None or now - status.completion_time > _LAST_EVENTS)
