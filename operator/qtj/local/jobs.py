"""The Job controller of Kubernetes, as far as inference needs it: one pod at a time, replaced after a failure.

Source: Kubernetes' documentation, "Jobs", sections "Pod backoff failure policy" and "Pod failure policy": retries
after 10, 20, 40, ... seconds, at most six minutes, until `backoffLimit` is reached. Section "Job termination and
cleanup": once `activeDeadlineSeconds` are over, its pods are terminated and it fails with the reason DeadlineExceeded.
"""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from qtj.local.store import ClusterStore
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import Object, Resource

__all__ = ["JobController"]

_DEFAULT_BACKOFF_LIMIT = 6
_FIRST_DELAY = timedelta(seconds=10)
_LAST_DELAY = timedelta(minutes=6)


class JobController:
    """Manages every batch/v1 Job of a cluster in memory.

    Args:
        store: The cluster.
        clock: Returns the time, in UTC.
    """

    def __init__(self, store: ClusterStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def step(self) -> bool:
        """Does the next step of one Job; returns whether there was one."""
        return any(self._reconcile(job) for job in self._store.select(Resource.JOBS, None, {}))

    def next_retry(self) -> datetime | None:
        """Returns when the next failed pod is due to be replaced."""
        open_ = ((job, pods) for job, pods in self._open() if not job["spec"].get("suspend"))
        due = (self._retry_at(pods) for _, pods in open_ if pods and all(map(_failed, pods)))
        return min(due, default=None)

    def _open(self) -> Sequence[tuple[Object, Sequence[Object]]]:
        jobs = self._store.select(Resource.JOBS, None, {})
        return [(job, self._pods(job)) for job in jobs if not _is_over(job)]

    def _pods(self, job: Object) -> Sequence[Object]:
        meta = job["metadata"]
        pods = self._store.select(Resource.PODS, meta["namespace"], {})
        return [pod for pod in pods if is_controlled_by(pod, meta["uid"])]

    def _reconcile(self, job: dict[str, Any]) -> bool:
        if _is_over(job) or job["spec"].get("suspend"):
            return False
        pods = self._pods(job)
        end = _end(job, pods)
        if end is not None:
            return self._write_status(job, pods, *end)
        if self._is_overdue(job):
            return self._stop(job, pods)
        if all(map(_failed, pods)) and (not pods or self._clock() >= self._retry_at(pods)):
            return self._create(job, pods)
        return self._write_status(job, pods)

    def _is_overdue(self, job: Object) -> bool:
        limit, created = job["spec"].get("activeDeadlineSeconds"), job["metadata"]["creationTimestamp"]
        return limit is not None and self._clock() >= datetime.fromisoformat(created) + timedelta(seconds=limit)

    def _stop(self, job: Object, pods: Sequence[Object]) -> bool:
        """Deletes the pods, and fails the Job once they are gone."""
        left = [pod for pod in pods if not _failed(pod)]
        for pod in left:
            if "deletionTimestamp" not in pod["metadata"]:
                self._store.delete(Resource.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
                return True
        return not left and self._write_status(
            job, pods, "Failed", "DeadlineExceeded", "Job was active longer than specified"
        )

    def _retry_at(self, pods: Sequence[Object]) -> datetime:
        last = max(_finished(pod) for pod in pods)
        return last + min(_FIRST_DELAY * (1 << len(pods) - 1), _LAST_DELAY)

    def _create(self, job: Object, pods: Sequence[Object]) -> bool:
        meta, template = job["metadata"], job["spec"]["template"]
        taken = {pod["metadata"]["name"] for pod in pods}  # a deleted pod leaves a gap
        names = (f"{meta['name']}-{meta['uid'][-4:]}{number}" for number in itertools.count(len(pods)))
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        own = {
            **template["metadata"],
            "name": next(name for name in names if name not in taken),
            "namespace": meta["namespace"],
            "ownerReferences": [owner],
        }
        self._store.create(
            Resource.PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]}
        )
        return True

    def _write_status(
        self, job: Object, pods: Sequence[Object], end: str | None = None, reason: str = "", why: str = ""
    ) -> bool:
        """Writes the Job's status; returns whether that changed it."""
        status: dict[str, Any] = {
            "active": sum(not _failed(pod) and not _succeeded(pod) for pod in pods),
            "failed": sum(map(_failed, pods)),
            "succeeded": sum(map(_succeeded, pods)),
        }
        if end:
            status["conditions"] = [{"type": end, "status": "True", "reason": reason, "message": why}]
        if status == job.get("status"):
            return False
        meta = job["metadata"]
        self._store.update(Resource.JOBS, meta["namespace"], meta["name"], lambda obj: obj.update(status=status))
        return True


def _is_over(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(c["type"] in {"Complete", "Failed"} and c["status"] == "True" for c in conditions)


def _end(job: Object, pods: Sequence[Object]) -> tuple[str, str, str] | None:
    """Returns type, reason and message of the condition that ends the Job; None while it is not over."""
    limit = job["spec"].get("backoffLimit", _DEFAULT_BACKOFF_LIMIT)
    actions = [_action(job, pod) for pod in pods if _failed(pod)]
    if any(map(_succeeded, pods)):
        return "Complete", "CompletionsReached", "the pod has succeeded"
    if "FailJob" in actions:
        return "Failed", "PodFailurePolicy", "a pod ended with an exit code that is final"
    if actions.count("Count") > limit:
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    return None


def _failed(pod: Object) -> bool:
    return bool(pod["status"].get("phase") == "Failed")


def _succeeded(pod: Object) -> bool:
    return bool(pod["status"].get("phase") == "Succeeded")


def _action(job: Object, pod: Object) -> str:
    """Returns the action of the Job's podFailurePolicy for a failed pod, by the first rule that matches."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    return next((str(rule["action"]) for rule in rules if _fits(rule, pod)), "Count")


def _fits(rule: Object, pod: Object) -> bool:
    codes, wanted = rule.get("onExitCodes") or {}, rule.get("onPodConditions") or ()
    held = {(condition["type"], condition["status"]) for condition in pod["status"].get("conditions") or ()}
    ended = {
        status["state"]["terminated"]["exitCode"]
        for status in pod["status"].get("containerStatuses") or ()
        if "terminated" in status["state"] and codes.get("containerName") in {None, status["name"]}
    } - {0}
    listed = ended & set(codes.get("values") or ())
    by_code = bool(listed if codes.get("operator") == "In" else codes and ended - listed)
    return by_code or any((each["type"], each["status"]) in held for each in wanted)


def _finished(pod: Object) -> datetime:
    """Returns when a failed pod ended; if that is unknown, as for an evicted pod, when it was created."""
    states = [status["state"].get("terminated") or {} for status in pod["status"].get("containerStatuses") or ()]
    known = (state["finishedAt"] for state in states if "finishedAt" in state)
    return datetime.fromisoformat(next(known, pod["metadata"]["creationTimestamp"]))
