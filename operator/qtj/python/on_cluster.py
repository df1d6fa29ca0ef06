"""A job of a cluster, as kubectl finds it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from qtj.cluster.connection import on_cluster
from qtj.cluster.request import events_of_job
from qtj.control import delete_job, suspend_job
from qtj.monitor.cluster_logs import copy_cluster_logs
from qtj.monitor.cluster_source import ClusterSource
from qtj.monitor.snapshot import Source
from qtj.monitor.watch import PERIOD_SECONDS
from qtj.python.here import Memory
from qtj.report.cluster import content_on_cluster
from qtj_operator.cluster.api import ApiClient
from qtj_report.content import Content

__all__ = ["OnCluster"]

T = TypeVar("T")


class OnCluster:
    """A job of a cluster; see `Here`.

    Attributes:
        name: Its name.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the current context.
    """

    period = PERIOD_SECONDS

    def __init__(self, name: str, namespace: str | None) -> None:
        self.name = name
        self._namespace = namespace

    def ask(self, look: Callable[[Source], Coroutine[Any, Any, T]]) -> T:
        """See `Here.ask`."""

        async def asked(client: ApiClient, where: str) -> T:
            return await look(
                ClusterSource(client, client.now, where, [self.name], partial(events_of_job, client.transport))
            )

        return on_cluster(asked, self._namespace)

    def content(self) -> Content:
        """See `Here.content`."""
        return content_on_cluster(self.name, self._namespace)[0]

    def logs(self, replica: str | None) -> str:
        """See `Here.logs`."""
        out = Memory()

        async def copy(client: ApiClient, where: str) -> None:
            await copy_cluster_logs(client, (where, self.name), replica, out=out)

        on_cluster(copy, self._namespace)
        return out.text

    def suspend(self) -> str:
        """See `Here.suspend`."""
        return suspend_job(self.name, self._namespace, suspend=True).sentence

    def resume(self) -> str:
        """See `Here.resume`."""
        return suspend_job(self.name, self._namespace, suspend=False).sentence

    def delete(self) -> str:
        """See `Here.delete`."""
        return delete_job(self.name, self._namespace).sentence
