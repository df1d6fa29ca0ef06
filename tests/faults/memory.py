"""What the operator must remember of its own writes, and whether what it has in mind of the cluster is true."""

from collections.abc import Iterator

from qtj.local.store import ClusterStore
from qtj_operator.controller.cache import CACHED, Cache, job_of
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.trim import trimmed


class OwnWrites:
    """Notes what the API server has answered to one process of the operator.

    Attributes:
        broken: What was asked for although an answer before says better.
    """

    def __init__(self) -> None:
        self.broken: list[str] = []
        self._created: set[str] = set()
        self._old: set[tuple[Resource, str, str]] = set()

    def restarts(self) -> None:
        """A new process knows no answers."""
        self._created.clear()
        self._old.clear()

    def created(self, obj: Object) -> None:
        """The operator was told that it has created this."""
        self._created.add(obj["metadata"]["uid"])

    def exists(self, resource: Resource, wanted: Object, there: Object) -> None:
        """The operator wanted to create this, and it is there already; one of an earlier job may only take its time."""
        same = wanted["metadata"].get("ownerReferences") == there["metadata"].get("ownerReferences")
        if same and job_of(resource, there) is not None and there["metadata"]["uid"] in self._created:
            self.broken.append(f"{there['metadata']['name']} was to be created although it had been")

    def conflicts(self, resource: Resource, name: str, version: str) -> None:
        """The operator was told that an object is at this version no longer."""
        if (resource, name, version) in self._old:
            self.broken.append(f"{name} was written to again at version {version}, of which it is known to be old")
        self._old.add((resource, name, version))


def untrue(cache: Cache, store: ClusterStore) -> Iterator[str]:
    """Yields what differs between the cache and the cluster, where no event is under way."""
    for resource in CACHED:
        known = {obj["metadata"]["name"]: obj for obj in cache.select(resource, None, {})}
        there = {obj["metadata"]["name"]: obj for obj in store.select(resource, None, {}) if job_of(resource, obj)}
        for name in known.keys() | there.keys():
            if name not in there:
                yield f"{resource.value[1]} {name} is gone, and the operator does not know"
            elif known.get(name) != trimmed(resource, there[name]):
                yield f"{resource.value[1]} {name} is another than the operator knows"
