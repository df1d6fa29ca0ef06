"""Kueue's integration for plain pods and for batch/v1 Jobs, as far as it decides when pods run and when they may go.

Source: kubernetes-sigs/kueue, `pkg/controller/jobs/pod/pod_webhook.go` (`Default`), `pkg/controller/jobs/pod/
pod_controller.go` (`Finished`, `Load`, `Stop`, `FindMatchingWorkloads`, `ConstructComposableWorkload`), and the order
of steps in `pkg/controller/jobframework/reconciler.go`. The rules were confirmed with the real Kueue 0.14.8.

What is modelled:

* the webhook gives each pod that names a queue a finalizer, a scheduling gate, the managed label and a hash of its
  role; a pod that a Job owns is none of Kueue's, and a Job that names a queue is created suspended;
* a group gets a workload when as many pods that can run as its total count exist, and is admitted when all of them fit
  the quota; then the gates go;
* the finalizers of a group go when all its pods have succeeded, or when one of its pods says
  `retriable-in-group: "false"` and none is active; a pod that is being deleted and has not ended is active;
* without a workload, the finalizer of a pod that cannot run goes; with one, that of a failed pod with a replacement of
  its role, and that of a pod in excess, which is deleted;
* a pod without a group is let go when it has ended or is being deleted;
* an eviction deletes pods and keeps their finalizers; the deletion of a workload deletes them and lets them go;
* a workload goes with its last pod.

Left out: priorities, flavors, topology, fast admission, reclaimable pods, and requeueing with a back-off.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.controller.client import Object, Resource
from qtj_operator.core.pod import FINISHED

_PREFIX = "kueue.x-k8s.io"
FINALIZER = MANAGED = f"{_PREFIX}/managed"
GATE = f"{_PREFIX}/admission"
QUEUE = f"{_PREFIX}/queue-name"
_GROUP = f"{_PREFIX}/pod-group-name"
_TOTAL = f"{_PREFIX}/pod-group-total-count"
_RETRIABLE = f"{_PREFIX}/retriable-in-group"
_ROLE = f"{_PREFIX}/role-hash"
PLENTY = 1000

Obj = dict[str, Any]


@dataclass
class Workload:
    """What Kueue keeps of a group, by the number of pods of each role."""

    roles: dict[str, int]
    admitted: bool = False
    finished: bool = False

    @property
    def size(self) -> int:
        """How much of the quota it takes."""
        return sum(self.roles.values())


@dataclass
class Kueue:
    """A queue with a quota of pods.

    Attributes:
        quota: How many pods of groups may run at a time; 0 holds the queue.
    """

    store: ClusterStore
    quota: int = PLENTY
    workloads: dict[str, Workload] = field(default_factory=dict)

    def step(self) -> bool:
        """Does what is due; returns whether that changed anything."""
        before = self.store.version
        pods = [pod for pod in self.store.select(Resource.PODS, None, {}) if _label(pod, MANAGED)]
        groups = {name: list(members) for name, members in groupby(sorted(pods, key=_group), key=_group)}
        for pod in groups.pop("", ()):
            self._single(pod)
        for name in self.workloads.keys() - groups.keys():
            del self.workloads[name]
        for name, members in groups.items():
            self._reconcile(name, members)
        for job in list(self.store.select(Resource.JOBS, None, {})):
            self._job(job)
        return self.store.version != before

    def evict(self) -> bool:
        """Takes the quota back from every group: its pods are deleted, and whatever replaces them waits anew."""
        admitted = [name for name, load in self.workloads.items() if load.admitted and not load.finished]
        for name in admitted:
            self.workloads[name].admitted = False
            self._stop(pod for pod in self._members(name) if not _ended(pod) and not _gated(pod))
        return bool(admitted)

    def delete_workloads(self) -> None:
        """Somebody deletes every workload: its pods are deleted, even those that have ended, and let go."""
        for name in list(self.workloads):
            members = self._members(name)
            del self.workloads[name]
            self._stop(members)
            self._release(members)

    def _members(self, group: str) -> list[Obj]:
        return list(self.store.select(Resource.PODS, None, {_GROUP: group}))

    def _single(self, pod: Obj) -> None:
        if _ended(pod) or "deletionTimestamp" in pod["metadata"]:
            self._release([pod])
        elif self.quota:
            self._ungate([pod])

    def _reconcile(self, name: str, pods: list[Obj]) -> None:
        total, load = int(pods[0]["metadata"]["annotations"][_TOTAL]), self.workloads.get(name)
        if (load and load.finished) or _is_finished(pods, total):
            if load:
                load.finished = True
            self._release(pods)
        elif load is None:
            self._construct(name, pods, total)
        else:
            for role, count in load.roles.items():
                self._tidy([pod for pod in pods if _annotation(pod, _ROLE) == role], count)
            self._admit(name, load)

    def _construct(self, name: str, pods: list[Obj], total: int) -> None:
        """Makes the group's workload once all of its pods exist."""
        self._release(pod for pod in pods if not _runnable(pod))
        runnable = sorted(filter(_runnable, pods), key=_age)
        self._discard(runnable[total:])
        if len(runnable) >= total:
            roles = [_annotation(pod, _ROLE) for pod in runnable[:total]]
            self.workloads[name] = Workload({role: roles.count(role) for role in roles})
            self._admit(name, self.workloads[name])

    def _tidy(self, pods: list[Obj], count: int) -> None:
        """Lets go of pods of one role that have been replaced, and of those in excess."""
        active = sorted(filter(_runnable, pods), key=lambda pod: (not _held(pod), _gated(pod), _age(pod)))
        inactive = sorted((pod for pod in pods if not _runnable(pod)), key=_age)
        self._discard(active[count:])
        self._release(inactive[: max(0, min(len(inactive), len(pods) - count))])

    def _admit(self, name: str, load: Workload) -> None:
        used = sum(each.size for each in self.workloads.values() if each.admitted and not each.finished)
        if not load.admitted and used + load.size <= self.quota:
            load.admitted = True
        if load.admitted:
            self._ungate(self._members(name))

    def _job(self, job: Obj) -> None:
        if _label(job, QUEUE) and job["spec"].get("suspend") and self.quota:
            self._edit(Resource.JOBS, job, lambda obj: obj["spec"].update(suspend=False))

    def _ungate(self, pods: Iterable[Obj]) -> None:
        for pod in pods:
            if _gated(pod):
                self._edit(Resource.PODS, pod, lambda obj: obj["spec"].pop("schedulingGates"))

    def _stop(self, pods: Iterable[Obj]) -> None:
        told = {"type": "TerminationTarget", "status": "True"}
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                self._edit(Resource.PODS, pod, lambda obj: obj["status"].setdefault("conditions", []).append(told))
                self.store.delete(Resource.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _discard(self, pods: Iterable[Obj]) -> None:
        for pod in pods:
            self.store.delete(Resource.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
            self._release([pod])

    def _release(self, pods: Iterable[Obj]) -> None:
        for pod in pods:
            if _held(pod):
                self._edit(Resource.PODS, pod, lambda obj: obj["metadata"]["finalizers"].remove(FINALIZER))

    def _edit(self, resource: Resource, obj: Obj, change: Any) -> None:
        self.store.update(resource, obj["metadata"]["namespace"], obj["metadata"]["name"], change)


def webhook(resource: Resource, obj: Obj) -> None:
    """What Kueue does to an object that is being created."""
    meta = obj["metadata"]
    if not _label(obj, QUEUE) or "resourceVersion" in meta:
        return
    if resource is Resource.JOBS:
        obj["spec"]["suspend"] = True
    elif resource is Resource.PODS and not _owned_by_a_job(meta):
        meta["finalizers"] = [*meta.get("finalizers", ()), FINALIZER]
        meta["labels"][MANAGED] = "true"
        obj["spec"]["schedulingGates"] = [{"name": GATE}]
        if _GROUP in meta["labels"]:
            meta["annotations"][_ROLE] = _role(obj["spec"])


def _role(spec: Obj) -> str:
    """Returns a digest of what admission depends on."""
    shape = [(c["name"], c.get("resources"), c.get("ports")) for c in spec["containers"]]
    placed = [spec.get(name) for name in ("nodeSelector", "affinity", "tolerations", "runtimeClassName")]
    return hashlib.sha256(json.dumps([shape, placed], sort_keys=True).encode()).hexdigest()[:8]


def _owned_by_a_job(meta: Obj) -> bool:
    return any(owner.get("controller") and owner["kind"] == "Job" for owner in meta.get("ownerReferences", ()))


def _is_finished(pods: list[Obj], total: int) -> bool:
    succeeded = sum(pod["status"]["phase"] == "Succeeded" for pod in pods)
    unretriable = any(_annotation(pod, _RETRIABLE) == "false" for pod in pods)
    return succeeded == total or (unretriable and all(map(_ended, pods)))


def _runnable(pod: Obj) -> bool:
    """Whether it can run yet, runs, or has succeeded."""
    never = "deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName")
    return not never and pod["status"]["phase"] != "Failed"


def _ended(pod: Obj) -> bool:
    return pod["status"]["phase"] in FINISHED


def _gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def _held(pod: Obj) -> bool:
    return FINALIZER in pod["metadata"].get("finalizers", ())


def _label(obj: Obj, name: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(name, ""))


def _annotation(obj: Obj, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def _group(pod: Obj) -> str:
    return _label(pod, _GROUP)


def _age(pod: Obj) -> tuple[str, str]:
    return pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]
