"""Watches the children of jobs, and studies: one list, then every change after it.

kopf watches the jobs, and could watch their children too. It does not, for two reasons. It never reports what has
vanished when it lists again after a gap, so a cache that is filled by its handlers would keep such an object for ever.
And each event costs it at least 0.1 ms of the event loop, for handlers that are not used, where this costs 0.03 ms: a
job of 1,000 replicas causes 5,000 events.
"""

import asyncio
import logging

from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.family import JOBS, Family
from qtj_operator.controller.watch_handler import WatchHandler

__all__ = ["CHILDREN", "LONGEST_PAUSE_SECONDS", "PAUSE_SECONDS", "UNHEARD_SECONDS", "Reflector"]

log = logging.getLogger(__name__)

CHILDREN = (Resource.PODS, Resource.SERVICES, Resource.DEPLOYMENTS, Resource.JOBS)
"""What jobs have; filtered by the server, for a cluster has many more pods than we have children."""

PAUSE_SECONDS = 2.0
"""Between two tries while the API server is away: nobody reports when it is back."""

LONGEST_PAUSE_SECONDS = 30.0
"""Where a request is refused again and again: rights may never come, and a try may list all objects."""

UNHEARD_SECONDS = 150.0
"""After so long without a line all objects are listed, for the watch may be of a version that the API server does not
have: it is silent until that is reached, and does not say so (Kubernetes 1.34). Versions are lower than before where
etcd was restored from a backup. Where nothing changes, the API server sends a bookmark every two minutes at most."""

_BETWEEN_WATCHES_SECONDS = 0.1

_SHORT_SECONDS = 1.0
"""A watch that ends sooner and has delivered nothing is asked for again after a longer pause: a proxy may end each."""

_SLICE = 20
"""Events that are fed before others have their turn: some milliseconds. Thousands may have arrived at once."""

_GONE = 410
"""HTTP status of a watch that was away for too long, which is nothing to warn of."""

_MISSING = {
    (Resource.QUANTUM_TRAINING_STUDIES, 404): "the cluster does not know this kind, and jobs run all the same: "
    "kubectl apply -k crds"
}
"""What is said of a resource that is not there: an upgrade may have left out its CRD."""

_ASK_AGAIN = {0, 401, 403, 429, 503}
"""HTTP statuses after which a watch continues where it was: the server was out of reach, refused, or was too busy.

After any other, all objects are listed: with 410 the events since that version are no longer kept.
"""


class Reflector:
    """Feeds all objects of one resource, and then their changes.

    Args:
        client: The API server.
        resource: What to watch: children are selected by their label, and of owners all are watched.
        namespace: The only namespace to watch; None for all.
        handler: Takes what there is and what changes.
        family: Who owns whom.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        namespace: str | None,
        handler: WatchHandler,
        family: Family = JOBS,
    ) -> None:
        self._client = client
        self._resource = resource
        self._family = family
        self._selector = "" if resource is family.owner else family.label
        self._namespace = namespace
        self._handler = handler
        self._version = ""
        self._heard = 0.0
        self._failing = False
        self._refusals = 0
        self._events = 0

    async def run(self) -> None:
        """Runs until cancelled; an API server that is away, or that refuses, is asked again and again."""
        while True:
            began = _now()
            try:
                if not self._version:
                    await self._list()
                    began = _now()
                await self._follow()
            except ApiError as error:
                pause = self.failed(error)
            except Exception:
                # An object that we cannot handle must not take the operator down with it.
                log.exception("%s cannot be watched: this is a defect of the operator", self._resource.value[1])
                self._version, pause = "", LONGEST_PAUSE_SECONDS
            else:
                fruitless = self._heard <= began and _now() - began < _SHORT_SECONDS
                pause = PAUSE_SECONDS if fruitless else _BETWEEN_WATCHES_SECONDS
                self._refusals = 0
            if _now() - self._heard >= UNHEARD_SECONDS:
                self._version = ""
            await asyncio.sleep(pause)

    async def _list(self) -> None:
        found: list[Object] = []
        listed_at = ""
        async for objects, version in self._client.pages(self._resource, self._namespace, self._selector):
            found += (self._family.trim(self._resource, obj) for obj in objects)
            listed_at = version
        self._handler.listed(self._resource, found, listed_at)
        self._version, self._heard = listed_at, _now()

    async def _follow(self) -> None:
        """Feeds changes until the server ends the watch, which it does every few minutes."""
        async for event in self._client.watch(self._resource, self._namespace, self._selector, self._version):
            kind, obj = event["type"], event["object"]
            if kind == "ERROR":
                raise ApiError(obj.get("code", 500), obj.get("reason", ""), obj.get("message", "the watch failed"))
            self._failing, self._refusals = False, 0
            self._version, self._heard = obj["metadata"]["resourceVersion"], _now()
            if kind != "BOOKMARK":
                self._handler.changed(self._resource, kind, obj)
            self._events += 1
            if self._events % _SLICE == 0:
                await asyncio.sleep(0)

    def failed(self, error: ApiError) -> float:
        """Asks for a list where events may have been missed, and logs the beginning of an outage.

        Returns:
            For how many seconds to wait.
        """
        pause = PAUSE_SECONDS
        if error.code not in _ASK_AGAIN:
            self._version = ""
        if error.code not in {_GONE, 0}:
            pause = min(PAUSE_SECONDS * 2.0 ** min(self._refusals, 10), LONGEST_PAUSE_SECONDS)
            self._refusals += 1
        if error.code != _GONE and not self._failing:
            self._failing = True
            why = _MISSING.get((self._resource, error.code), error)
            log.warning("%s cannot be watched: %s; next try in %.0f s", self._resource.value[1], why, pause)
        if error.retry_after:
            return max(PAUSE_SECONDS, min(error.retry_after, LONGEST_PAUSE_SECONDS))
        return pause


def _now() -> float:
    return asyncio.get_running_loop().time()
