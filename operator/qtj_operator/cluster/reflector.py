"""Watches the children of jobs: one list, then every change after it.

kopf watches the jobs, and could watch their children too. It does not, for two reasons. It never reports what has
vanished when it lists again after a gap, so a cache that is filled by its handlers would keep such an object for ever.
And each event costs it 0.4 ms of the event loop, for the state of handlers that are not used, where this costs 0.03 ms:
a job of 1,000 replicas causes 5,000 events.
"""

import asyncio
import logging

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.feed import Feed
from qtj_operator.controller.trim import trimmed

__all__ = ["CHILDREN", "Reflector"]

log = logging.getLogger(__name__)

CHILDREN = (Resource.PODS, Resource.SERVICES, Resource.DEPLOYMENTS, Resource.JOBS)
"""What jobs have; filtered by the server, for a cluster has many more pods than we have children."""

_PAUSE_SECONDS = 2.0
"""Between two tries while the API server is away: nobody reports when it is back."""

_BETWEEN_WATCHES_SECONDS = 0.1
"""So that a server that ends each watch at once is not asked without a pause."""

_SLICE = 20
"""Events that are fed before others have their turn: some milliseconds. Thousands may have arrived at once."""

_GONE = 410
"""HTTP status of a watch that was away for too long, which is nothing to warn of."""

_ASK_AGAIN = {0, 401, 403, 429, 503}
"""HTTP statuses after which a watch continues where it was: the server was out of reach, refused, or was too busy.

After any other, all objects are listed: with 410 the events since that version are no longer kept, and with 504 the
server has not yet had that version.
"""


class Reflector:
    """Feeds all objects of one resource, and then their changes.

    Args:
        client: The API server.
        resource: Which children to watch.
        namespace: The only namespace to watch; None for all.
        feed: Takes what there is and what changes.
    """

    def __init__(self, client: ApiClient, resource: Resource, namespace: str | None, feed: Feed) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._feed = feed
        self._version = ""
        self._failing = False
        self._events = 0

    async def run(self) -> None:
        """Runs until cancelled; an API server that is away, or that refuses, is asked again and again."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._follow()
            except ApiError as error:
                self._failed(error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                await asyncio.sleep(_BETWEEN_WATCHES_SECONDS)

    async def _list(self) -> None:
        found: list[Object] = []
        listed_at = ""
        async for objects, version in self._client.pages(self._resource, self._namespace, LABEL_JOB):
            found += (trimmed(self._resource, obj) for obj in objects)
            listed_at = version
        self._feed.listed(self._resource, found, listed_at)
        self._version = listed_at

    async def _follow(self) -> None:
        """Feeds changes until the server ends the watch, which it does every few minutes."""
        async for event in self._client.watch(self._resource, self._namespace, LABEL_JOB, self._version):
            kind, obj = event["type"], event["object"]
            if kind == "ERROR":
                raise ApiError(obj.get("code", 500), obj.get("reason", ""), obj.get("message", "the watch failed"))
            self._failing = False
            self._version = obj["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self._feed.changed(self._resource, kind, obj)
            self._events += 1
            if self._events % _SLICE == 0:
                await asyncio.sleep(0)

    def _failed(self, error: ApiError) -> None:
        """Asks for a list where events may have been missed, and logs the beginning of an outage."""
        if error.code not in _ASK_AGAIN:
            self._version = ""
        if error.code != _GONE and not self._failing:
            self._failing = True
            log.warning("%s cannot be watched: %s; next try in %.0f s", self._resource.value[1], error, _PAUSE_SECONDS)
