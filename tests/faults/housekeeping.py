"""What controllers of Kubernetes itself do to pods beside running them: they hold some, and clear others away.

Sources: Kubernetes' Job controller (`pkg/controller/job/job_controller.go`: `canRemoveFinalizer`, `isPodFailed`): each
pod of a Job has a finalizer until the pod has ended, or its Job is over or gone; with a podFailurePolicy a pod that is
merely being deleted has not failed. Kubernetes' PodGC (`pkg/controller/podgc/gc_controller.go`,
`gcUnscheduledTerminating`): a pod that is being deleted and that no node has taken is marked Failed.
"""

from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.controller.client import Resource
from qtj_operator.core.pod import FINISHED

TRACKING = "batch.kubernetes.io/job-tracking"

Obj = dict[str, Any]


def track(resource: Resource, obj: Obj) -> None:
    """The Job controller creates its pods with a finalizer."""
    meta = obj["metadata"]
    if resource is Resource.PODS and "resourceVersion" not in meta and _owner(obj):
        meta["finalizers"] = [*meta.get("finalizers", ()), TRACKING]


class Housekeeping:
    """Lets go of the pods of Jobs, and marks pods that will never run."""

    def __init__(self, store: ClusterStore) -> None:
        self._store = store

    def step(self) -> bool:
        """Does what is due; returns whether that changed anything."""
        before = self._store.version
        jobs = {job["metadata"]["uid"]: job for job in self._store.select(Resource.JOBS, None, {})}
        for pod in self._store.select(Resource.PODS, None, {}):
            if TRACKING in pod["metadata"].get("finalizers", ()) and _is_free(pod, jobs.get(_owner(pod))):
                self._edit(pod, lambda obj: obj["metadata"]["finalizers"].remove(TRACKING))
            elif _never_runs(pod):
                self._edit(pod, lambda obj: obj["status"].update(phase="Failed"))
        return self._store.version != before

    def _edit(self, pod: Obj, change: Any) -> None:
        self._store.update(Resource.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"], change)


def _is_free(pod: Obj, job: Obj | None) -> bool:
    over = job is None or any(c["status"] == "True" for c in job.get("status", {}).get("conditions", ()))
    return over or pod["status"]["phase"] in FINISHED


def _never_runs(pod: Obj) -> bool:
    waits = pod["status"]["phase"] == "Pending" and "nodeName" not in pod["spec"]
    return waits and "deletionTimestamp" in pod["metadata"]


def _owner(pod: Obj) -> str:
    owners = pod["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller") and owner["kind"] == "Job"), "")
