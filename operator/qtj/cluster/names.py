"""The names of what is on a cluster, for the TAB key."""

from collections.abc import Sequence

from qtj.cluster.connection import on_cluster
from qtj.cluster.jobs import jobs_in
from qtj.cluster.request import get_json
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import Resource

__all__ = ["job_names", "namespace_names", "replica_names"]


def job_names(namespace: str | None) -> Sequence[str]:
    """Returns the names of the jobs of a namespace; None for that of the current context.

    Raises:
        InputError: There is no cluster, or it refuses.
    """

    async def ask(client: ApiClient, where: str) -> Sequence[str]:
        return [job["metadata"]["name"] for job in await jobs_in(client, where)]

    return on_cluster(ask, namespace)


def replica_names(job: str, namespace: str | None) -> Sequence[str]:
    """Returns the names of the replicas of a job that have a pod, without the name of the job.

    Raises:
        InputError: There is no cluster, or it refuses.
    """

    async def ask(client: ApiClient, where: str) -> Sequence[str]:
        pods = await client.list(Resource.PODS, where, {LABEL_JOB: job})
        return [pod["metadata"]["name"].removeprefix(f"{job}-") for pod in pods]

    return on_cluster(ask, namespace)


def namespace_names() -> Sequence[str]:
    """Returns the names of all namespaces.

    Raises:
        InputError: There is no cluster, or it refuses.
    """

    async def ask(client: ApiClient, _: str) -> Sequence[str]:
        found = await get_json(client.transport, "/api/v1/namespaces", {})
        return [each["metadata"]["name"] for each in found["items"]]

    return on_cluster(ask, None)
