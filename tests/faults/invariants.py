"""What must hold at every change of the cluster, and at the end of every pass, whatever goes wrong."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from qtj.local.store import Change
from qtj_contract import Env
from qtj_operator.api.conditions import ConditionType, Reason, is_true
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INFERENCE, LABEL_PROBE, LABEL_ROLE, Role, tensorboard_name
from qtj_operator.api.status import Status
from qtj_operator.controller.client import Object, Resource
from qtj_operator.core.failures import MAX_FAILURES
from tests.faults.pacing import Pacing
from tests.faults.wrong import (
    ENDS,
    STOPPED,
    is_resized,
    is_resumed,
    wrong_conditions,
    wrong_counts,
    wrong_end,
    wrong_expiry,
    wrong_inference,
    wrong_result,
    wrong_sizes,
    wrong_stop,
)

NODE_TIME = timedelta(seconds=15)
"""What a node has after a pod's deadline, before the pod is removed without its word."""

EVENTS_OF_A_PASS = 5 + MAX_FAILURES
"""One for each condition, and one for each replica that is replaced."""


@dataclass
class Pass:
    """What the pass that is going on has done so far.

    Attributes:
        late: Whether the cluster has changed since it was last delivered.
        refused: Whether a child was refused, which is worth an event where it hinders nothing.
    """

    late: bool
    refused: bool = False
    moves_record: bool = False
    status_written: bool = False
    children_changed: int = 0
    events: int = 0


class Invariants:
    """Watches every change and remembers what must never happen.

    A pass that reads late may do what was right before. What it does wrong has to be put right afterwards, but the
    record is safe from it, and so is what it has not seen.
    """

    def __init__(self, clock: Callable[[], datetime], knows: Callable[[Resource, str, str], Object | None]) -> None:
        self._knows = knows
        self._lost: set[str] = set()
        """Uids of those whose pods were deleted without their nodes: such a Job is deleted with its pod."""
        self._pacing = Pacing(clock)
        self._known_finished: set[tuple[str, str, str]] = set()
        self._jobs: dict[str, Object] = {}
        self._read: dict[str, Job] = {}
        self._children: dict[tuple[Resource, str], Object] = {}
        self._counted: set[str] = set()
        self._clusters: dict[tuple[str, str], Any] = {}
        self._runs: Counter[tuple[str, str]] = Counter()
        self._pass: Pass | None = None
        self.events = 0
        self.broken: list[str] = []

    def begins(self, *, late: bool) -> None:
        """A pass begins, which may not see all that has happened."""
        self._pass = Pass(late=late)

    def ends(self, *, well: bool) -> None:
        """The pass is over, or cut off."""
        done, self._pass = self._pass, None
        assert done is not None
        if well and not done.late:
            pods = (child for (kind, _), child in self._children.items() if kind is Resource.PODS)
            self._known_finished |= {_replica(pod) for pod in pods if _has_finished(pod)}
        self._demand(not (done.moves_record and done.children_changed), "a pass moved the record and did more")
        did_something = done.status_written or done.children_changed > 0 or done.refused or done.late
        self._demand(did_something or not done.events, "it told of nothing")
        self._demand(done.events <= EVENTS_OF_A_PASS, f"{done.events} events in one pass")

    def refuses(self) -> None:
        """Somebody has refused what the operator wants to create."""
        if self._pass:
            self._pass.refused = True

    def disturbs(self) -> None:
        """A request failed, or a new process began, which may try at once what the one before it was waiting with."""
        self._pacing.news()

    def knows_finished(self, pod: Object) -> bool:
        """Tells whether the operator has seen that this replica has done its work in this attempt."""
        return _replica(pod) in self._known_finished

    def tries(self, verb: str, resource: Resource, name: str) -> None:
        """The operator asks for a write, whatever comes of it; a pass that reads late may ask in vain."""
        if resource is not Resource.EVENTS and not (self._pass and self._pass.late):
            self._note(self._pacing.tried(verb, resource.value[1], name))

    def runs(self) -> int:
        """The most runs of inference for the same job, weights and spec."""
        return max(self._runs.values(), default=0)

    def deletes(self, seen: Object | None, now: datetime, *, force: bool) -> None:
        """The operator asks for the deletion of what it has `seen`; it may have learnt since that it is gone."""
        if seen is None:
            return
        due = seen["metadata"].get("deletionTimestamp")
        if force:
            self._lost.add(_controller(seen))
        self._demand(force == (due is not None), "a deletion is asked for once, and insisted on afterwards")
        self._demand(
            due is None or datetime.fromisoformat(due) + NODE_TIME <= now,
            "it insisted before its node's time was up",
        )

    def check(self, change: Change) -> None:
        """Looks at one change."""
        if self._pass is None:
            self._pacing.news()
        if change.resource is Resource.QUANTUM_TRAINING_JOBS:
            self._job(change)
        elif change.resource is Resource.EVENTS:
            self.events += 1
            if self._pass is not None:
                self._pass.events += not _reminds(change.object)
        else:
            self._child(change)

    def _job(self, change: Change) -> None:
        uid = change.object["metadata"]["uid"]
        before = self._jobs.pop(uid, None)
        if change.type != "DELETED":
            self._jobs[uid] = change.object
        if self._pass is None or before is None:
            return
        if change.type == "DELETED":
            self._note(wrong_expiry(self._parsed(before)))
            return
        self._pass.status_written = True
        self._demand(_the_users(before) == _the_users(change.object), "the operator touched what is the user's")
        old, new = self._parsed(before), self._parsed(change.object)
        self._pass.moves_record |= _record(old.status) != _record(new.status)
        self._note(
            (
                *wrong_conditions(old, new),
                *wrong_end(old, new),
                *wrong_counts(old, new),
                *wrong_sizes(old, new),
                *wrong_result(old, new),
            )
        )
        if not self._pass.late and not old.is_running and self._is_held(new):
            self._demand(not _has_run_out_of_time(old, new), "a deadline passed while a queue held the job")
        begins = (new.status.attempt or 0) > 1 and new.status.attempt != old.status.attempt
        if begins and not is_resumed(old, new) and not is_resized(old, new):
            self._note(self._pacing.began())
        known = {failure.uid for failure in old.status.failures or ()}
        counted = {failure.uid for failure in new.status.failures or ()} - known
        self._demand(self._counted.isdisjoint(counted), "a failure is counted once")
        self._counted |= counted

    def _is_held(self, job: Job) -> bool:
        """Whether a pod that training waits for is behind a scheduling gate."""
        pods = [child for (kind, _), child in self._children.items() if kind is Resource.PODS]
        return any(
            pod["spec"].get("schedulingGates")
            and "deletionTimestamp" not in pod["metadata"]
            and _replica(pod)[:2] == (job.uid, str(job.status.attempt))
            and pod["metadata"]["labels"].get(LABEL_ROLE) != Role.EVALUATOR.task_type
            for pod in pods
        )

    def _child(self, change: Change) -> None:
        meta = change.object["metadata"]
        if change.type == "DELETED":
            self._children.pop((change.resource, meta["name"]), None)
        else:
            self._children[change.resource, meta["name"]] = change.object
        raw = self._jobs.get(_controller(change.object))
        if self._pass is None or raw is None:
            return
        self._pass.children_changed += 1
        if change.type == "ADDED":
            self._demand("deletionTimestamp" not in raw["metadata"] or self._pass.late, "it revives a job that goes")
            self._created(change, self._parsed(raw))
        elif change.type == "DELETED" or "deletionTimestamp" in meta:
            seen = self._knows(change.resource, meta["namespace"], meta["name"])
            never = seen is None or seen["metadata"]["uid"] != meta["uid"]
            self._demand(not never, f"{meta['name']} was deleted, which the operator had never seen")
            if change.resource is Resource.JOBS and not self._pass.late and meta["uid"] not in self._lost:
                self._note(wrong_stop(change.object, self._parsed(raw)))

    def _created(self, change: Change, job: Job) -> None:
        if change.resource is Resource.JOBS:
            self._runs[job.uid, change.object["metadata"]["labels"][LABEL_INFERENCE]] += 1
        labels = change.object["metadata"]["labels"]
        if change.resource is Resource.PODS and LABEL_ATTEMPT in labels and LABEL_PROBE not in labels:
            self._in_one_cluster(change.object)
        if self._pass is None or self._pass.late:
            return
        self._demand(not job.spec.suspend, "something was created for a suspended job")
        if change.object["metadata"]["name"] == tensorboard_name(job.name):
            return  # it is there for jobs that have ended too
        self._demand(
            not any(is_true(job.status.conditions, end) for end in ENDS), "something was created after the end"
        )
        if change.resource is Resource.JOBS:
            self._note(wrong_inference(change.object, job))
        if LABEL_PROBE in labels:
            self._demand(job.is_running and job.policy.elastic is not None, "a place is looked for that is not wanted")
        elif change.resource is Resource.PODS:
            name = change.object["spec"].get("subdomain") or change.object["metadata"]["name"]
            self._demand((Resource.SERVICES, name) in self._children, "a pod has no Service")
            self._demand(not self.knows_finished(change.object), f"{name} had finished, and runs again")
            self._demand(not is_true(job.status.conditions, ConditionType.TRAINED), "it trains after training")
            attempts = self._attempts(job.uid)
            self._demand(attempts == {str(job.status.attempt)}, f"attempts {attempts} in attempt {job.status.attempt}")

    def _in_one_cluster(self, pod: Object) -> None:
        """Demands that all pods of an attempt are members of the same cluster, however late a pass reads."""
        uid, attempt, name = _replica(pod)
        variables = {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}
        cluster = json.loads(variables.get(Env.TF_CONFIG, "{}")).get("cluster")
        known = self._clusters.setdefault((uid, attempt), cluster)
        self._demand(known == cluster, f"{name} has another cluster than its peers in attempt {attempt}")

    def _parsed(self, raw: Object) -> Job:
        """Reads a job, once at each version."""
        version = raw["metadata"]["resourceVersion"]
        if version not in self._read:
            self._read[version] = Job.parse(raw)
        return self._read[version]

    def _attempts(self, uid: str) -> set[str]:
        return {
            child["metadata"]["labels"][LABEL_ATTEMPT]
            for (resource, _), child in self._children.items()
            if resource is Resource.PODS and _controller(child) == uid and not self.knows_finished(child)
        }

    def _note(self, wrongs: Iterable[str]) -> None:
        self.broken += wrongs

    def _demand(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.broken.append(otherwise)


def _reminds(event: Object) -> bool:
    """Whether it tells again of a job that waits, before its last event expires: nothing has to happen for that."""
    return "has waited for" in str(event.get("note") or event.get("message"))


def _has_run_out_of_time(old: Job, new: Job) -> bool:
    late = {Reason.DEADLINE_EXCEEDED, Reason.PENDING_DEADLINE_EXCEEDED}
    return new.has_failed and not old.has_failed and new.status.reason in late


def _record(status: Status) -> tuple[Any, ...]:
    decided = [is_true(status.conditions, kind) for kind in (ConditionType.TRAINED, *STOPPED)]
    return status.attempt, status.restarts, status.disruptions, status.failures, status.weights, decided


def _the_users(obj: Object) -> Mapping[str, Any]:
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {**obj, "metadata": meta, "status": None}


def _replica(pod: Object) -> tuple[str, str, str]:
    meta = pod["metadata"]
    return _controller(pod), str(meta["labels"].get(LABEL_ATTEMPT)), str(meta["name"])


def _has_finished(pod: Object) -> bool:
    """Whether a program of training has ended with exit code 0, and nobody has told it to."""
    status = pod["status"]
    told = any(each["type"] == "DisruptionTarget" for each in status.get("conditions", ()))
    if "deletionTimestamp" in pod["metadata"] or status["phase"] != "Succeeded" or told:
        return False
    ends = [each["state"].get("terminated", {}) for each in pod["status"].get("containerStatuses", ())]
    replica = LABEL_ATTEMPT in pod["metadata"]["labels"] and LABEL_PROBE not in pod["metadata"]["labels"]
    return replica and bool(ends) and ends[0].get("exitCode") == 0


def _controller(obj: Object) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")
