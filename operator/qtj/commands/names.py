"""The names that the TAB key completes: of runs, jobs, replicas and namespaces.

Each function gets the words before the one that is completed, already parsed. A mistake in them, or a cluster that does
not answer, means that there is no name.
"""

import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import typer

from qtj.cluster.choice import CHOICE, contexts

if TYPE_CHECKING:
    from qtj_operator.cluster.api import ApiClient
    from qtj_operator.controller.client import Object

__all__ = ["context_names", "jobs", "jobs_of_cluster", "namespaces", "replicas", "runs"]

_LIMIT = "QTJ_COMPLETION_SECONDS"
"""The variable with the time that a cluster may take, with what has to be imported to ask it: 1 if it is not set."""

_LONGEST_SECONDS = 60.0


def runs(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Returns the names that a RUN may be completed to: of runs of this folder, or of jobs of the cluster."""
    if _is_on_cluster(ctx):
        return jobs_of_cluster(ctx, incomplete)
    from qtj.local.history import History

    history = History()
    names = [each for job in history.jobs() for each in (job, *(run.name for run in history.runs(job)))]
    return _beginning(incomplete, names)


def jobs(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Returns the names that a JOB may be completed to: of this folder, or of the cluster."""
    if _is_on_cluster(ctx):
        return jobs_of_cluster(ctx, incomplete)
    from qtj.local.history import History

    return _beginning(incomplete, History().jobs())


def jobs_of_cluster(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Returns the names that the JOB of a cluster may be completed to."""

    async def ask(client: "ApiClient", where: str) -> Sequence[str]:
        from qtj.cluster.connection import jobs_in

        return _names(await jobs_in(client, where))

    return _beginning(incomplete, _answered(ask, ctx.params.get("namespace")))


def namespaces(incomplete: str) -> Sequence[str]:
    """Returns the names that a NAMESPACE may be completed to."""

    async def ask(client: "ApiClient", _: str) -> Sequence[str]:
        from qtj.cluster.request import get_json

        return _names((await get_json(client.transport, "/api/v1/namespaces", {}))["items"])

    return _beginning(incomplete, _answered(ask))


def context_names(incomplete: str) -> Sequence[str]:
    """Returns the names that a CONTEXT may be completed to: those of the kubeconfig."""
    return _beginning(incomplete, list(contexts()))


def replicas(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """Returns the names that a REPLICA may be completed to: those of the run, or of the pods of the job."""
    run = ctx.params.get("run")
    if run is None:
        return []
    return _beginning(incomplete, _of_pods(ctx, run) if _is_on_cluster(ctx) else _of_logs(run))


def _is_on_cluster(ctx: typer.Context) -> bool:
    return bool(ctx.params.get("cluster") or ctx.params.get("namespace") or CHOICE.is_made)


def _of_pods(ctx: typer.Context, job: str) -> Sequence[str]:
    async def ask(client: "ApiClient", where: str) -> Sequence[str]:
        from qtj_operator.api.names import LABEL_JOB
        from qtj_operator.controller.client import Resource

        pods = await client.list(Resource.PODS, where, {LABEL_JOB: job})
        return [name.removeprefix(f"{job}-") for name in _names(pods)]

    return _answered(ask, ctx.params.get("namespace"))


def _of_logs(run: str) -> Sequence[str]:
    from qtj.runs.folders import job_and_folder
    from qtj.terminal.errors import InputError

    with suppress(InputError):
        job, folder = job_and_folder(run, None)
        return list(dict.fromkeys(path.stem.partition(".")[0].removeprefix(f"{job}-") for path in folder.logs))
    return []


def _beginning(incomplete: str, names: Sequence[str]) -> Sequence[str]:
    return [name for name in names if name.startswith(incomplete)]


def _names(objects: Iterable["Object"]) -> Sequence[str]:
    return [each["metadata"]["name"] for each in objects]


def _answered(
    ask: Callable[["ApiClient", str], Coroutine[Any, Any, Sequence[str]]], namespace: str | None = None
) -> Sequence[str]:
    """Returns the answer of a cluster; nothing if it fails, or takes too long."""
    found: list[str] = []

    def look() -> None:
        with suppress(Exception):
            from qtj.cluster.connection import on_cluster

            found.extend(on_cluster(ask, namespace))

    # A thread, because a credential plugin or the resolver of host names may block a process.
    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(_limit(os.environ.get(_LIMIT, "")))
    return list(found)


def _limit(written: str) -> float:
    """Returns the time for an answer in seconds; that of a variable that is not set, if it is no such number."""
    with suppress(ValueError):
        seconds = float(written)
        if 0 < seconds <= _LONGEST_SECONDS:
            return seconds
    return 1.0
