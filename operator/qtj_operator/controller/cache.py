"""The newest state of each object that a watch, a list or an own write has delivered.

A resourceVersion is a number that grows with each change of a resource (KEP-5504), so that of two states of an object
the newer one is known, in whatever order they arrive. What is gone is remembered for some time, because an answer or
an event may be late::

    create answered (12)   DELETED (14)   event ADDED (12), late      stays gone: 12 is before 14
    list (20) without it                  event MODIFIED (15), late   stays gone: 15 is before 20
    DELETED (14)           ADDED (16)                                 is there again: its label was removed and put back

A list is right about everything up to its own version, also where it names an older state than the one that is known::

    MODIFIED (15)          list (20) with it at 12                    is at 12: etcd was restored, and 15 never happened
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from qtj_operator.controller.client import Key, Object, Resource
from qtj_operator.controller.family import JOBS, Family

__all__ = ["AWAITED", "CACHED", "MOST_GONE", "Cache", "job_of"]

AWAITED = JOBS.awaited
CACHED = JOBS.cached
job_of = JOBS.owner_of

MOST_GONE = 10_000
"""Objects that are gone and remembered, of each resource: events are late by seconds."""


class Identified(Protocol):
    """A job or a study, as it was read."""

    @property
    def namespace(self) -> str:
        """Its namespace."""
        ...

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def uid(self) -> str:
        """Its uid."""
        ...

    @property
    def generation(self) -> int:
        """That of its spec."""
        ...


class Cache:
    """The objects of the resources that are watched.

    Args:
        family: Of whom, and of whose children; in the words here, of jobs.

    Attributes:
        lost_children: The jobs of children that are gone, until a pass has asked.
    """

    def __init__(self, family: Family = JOBS) -> None:
        self.family = family
        self.lost_children: set[Key] = set()
        self._kept = {resource: _Kept(resource, self.lost_children, family) for resource in family.cached}

    def is_filled(self) -> bool:
        """Tells whether each resource has been listed that decisions wait for."""
        return all(self.is_listed(resource) for resource in self.family.awaited)

    def is_listed(self, resource: Resource) -> bool:
        """Tells whether a resource has been listed: what is not known of it does not exist then."""
        return resource in self._kept and self._kept[resource].listed is not None

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Returns an object."""
        return self._kept[resource].objects.get((namespace, name))

    def is_current(self, job: Identified) -> bool:
        """Tells whether a job was not deleted, created again, suspended or edited since it was read."""
        now = self.get(self.family.owner, job.namespace, job.name)
        if now is None or "deletionTimestamp" in now["metadata"]:
            return False
        return (now["metadata"]["uid"], now["metadata"].get("generation", 1)) == (job.uid, job.generation)

    def select(self, resource: Resource, namespace: str | None, labels: Mapping[str, str]) -> list[Object]:
        """Returns the objects that carry all of `labels`, in one namespace or in all."""
        found = self._kept[resource].of(namespace, labels.get(self.family.label))
        return [obj for obj in found if labels.items() <= (obj["metadata"].get("labels") or {}).items()]

    def job(self, resource: Resource, obj: Object) -> Key | None:
        """Returns the job that an object of this name belongs to, as far as is known."""
        return self._kept[resource].job(_key(obj))

    def heard(self, resource: Resource, obj: Object) -> None:
        """Notes what a watch has delivered: each list that follows is of a later version, or etcd was restored.

        That is not so of own writes, which may be done while a list is on its way.
        """
        kept = self._kept[resource]
        kept.reached = max(kept.reached, _version(obj))

    def put(self, resource: Resource, obj: Object) -> bool:
        """Notes a state of an object; returns whether it is news. One that has no job any more counts as gone."""
        if self.family.owner_of(resource, obj) is None:
            return self.remove(resource, obj)
        return self._kept[resource].put(obj, partial(self.family.trim, resource))

    def remove(self, resource: Resource, obj: Object) -> bool:
        """Notes that an object is gone, in its last state; returns whether it is news."""
        return self._kept[resource].remove(obj["metadata"], _version(obj)) is not None

    def forget(self, resource: Resource, obj: Object) -> bool:
        """Notes that an object is gone for good, because its uid is never used again; returns whether it is news."""
        return self._kept[resource].remove(obj["metadata"], math.inf) is not None

    def replace(self, resource: Resource, objects: Iterable[Object], version: str) -> set[Key]:
        """Notes all objects that there were at a resourceVersion; returns the jobs for which that is news.

        The objects are trimmed already: there may be thousands, and this is done at once.
        """
        return self._kept[resource].replace(objects, int(version))

    def has_lost_a_child(self, job: Key) -> bool:
        """Tells, once, whether a child of the job is gone since the last call: the job may be gone as well."""
        lost = job in self.lost_children
        self.lost_children.discard(job)
        return lost and self.get(self.family.owner, *job) is not None


class _Kept:
    """The objects of one resource.

    Args:
        resource: Which.
        lost: Gets the job of each child that is gone, or that another one of the same name has replaced.
        family: Who owns whom.

    Attributes:
        objects: By namespace and name.
        listed: The resourceVersion of the last list: what was not in it was not there; None before the first.
        reached: The latest resourceVersion that a list or a watch has delivered.
    """

    def __init__(self, resource: Resource, lost: set[Key], family: Family) -> None:
        self._resource = resource
        self._family = family
        self._lost = lost
        self.objects: dict[Key, Object] = {}
        self._of_job: dict[Key, dict[Key, Object]] = {}
        self._gone: dict[str, float] = {}
        self.listed: int | None = None
        self.reached = 0

    def _owner_of(self, obj: Object) -> Key | None:
        return self._family.owner_of(self._resource, obj)

    def of(self, namespace: str | None, job: str | None) -> Iterable[Object]:
        if namespace is not None and job is not None:
            return self._of_job.get((namespace, job), {}).values()
        return [obj for key, obj in self.objects.items() if namespace in {None, key[0]}]

    def put(self, obj: Object, trim: Callable[[Object], Object]) -> bool:
        version, known = _version(obj), self.objects.get(_key(obj))
        if version <= self._gone.get(obj["metadata"]["uid"], 0):
            return False
        if version <= ((self.listed or 0) if known is None else _version(known)):
            return False
        return self._store(trim(obj))

    def _store(self, obj: Object) -> bool:
        key = _key(obj)
        job, known = self._owner_of(obj), self.objects.get(key)
        if job is None:
            return False
        former = self._take(key)
        if former and known and known["metadata"]["uid"] != obj["metadata"]["uid"]:
            self._note_lost({former})
        self.objects[key] = self._of_job.setdefault(job, {})[key] = obj
        return True

    def remove(self, meta: Object, version: float) -> Key | None:
        """Returns the job whose child is gone, if that is news; for a job, the job."""
        key = meta["namespace"], meta["name"]
        self._gone[meta["uid"]] = max(version, self._gone.get(meta["uid"], 0))
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]
        known = self.objects.get(key)
        if known is None or known["metadata"]["uid"] != meta["uid"] or _version(known) > version:
            return None
        job = self._take(key)
        self._note_lost({job} if job else set())
        return job

    def replace(self, objects: Iterable[Object], version: int) -> set[Key]:
        there: set[Key] = set()
        changed: set[Key | None] = set()
        if version < self.reached:
            changed |= self._start_again()
        for obj in objects:
            there.add(_key(obj))
            former = self.job(_key(obj))
            if self._is_listed_anew(obj, version) and self._store(obj):
                changed |= {self._owner_of(obj), former}
        changed |= {self.remove(obj["metadata"], version) for obj in list(self._vanished(there, version))}
        self.listed = self.reached = version
        return {key for key in changed if key}

    def _is_listed_anew(self, obj: Object, version: int) -> bool:
        """Whether a list at a version shows a state that is not known, and nothing later than the list is known."""
        known = self.objects.get(_key(obj))
        if self._gone.get(obj["metadata"]["uid"], 0) > version:
            return False
        return known is None or (_version(known) != _version(obj) and _version(known) <= version)

    def _start_again(self) -> set[Key]:
        """Drops everything, for versions begin at an earlier number: etcd was restored; returns the jobs concerned."""
        jobs = set(self._of_job)
        self._note_lost(jobs)
        for known in (self.objects, self._of_job, self._gone):
            known.clear()
        self.listed = 0
        return jobs

    def _note_lost(self, jobs: set[Key]) -> None:
        if self._resource is not self._family.owner:
            self._lost |= jobs

    def _vanished(self, there: set[Key], version: int) -> Iterator[Object]:
        return (obj for key, obj in self.objects.items() if key not in there and _version(obj) <= version)

    def job(self, key: Key) -> Key | None:
        """Returns the job of an object that is known."""
        known = self.objects.get(key)
        return None if known is None else self._owner_of(known)

    def _take(self, key: Key) -> Key | None:
        """Removes an object; returns its job."""
        job = self.job(key)
        self.objects.pop(key, None)
        if job:
            left = self._of_job[job]
            del left[key]
            if not left:
                del self._of_job[job]
        return job


def _key(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])
