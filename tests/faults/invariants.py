"""What must hold at every change of the cluster, and at the end of every pass, whatever goes wrong."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from qtj.local.store import Change
from qtj_operator.api.conditions import ConditionType, Reason, find, is_true, phase_of
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INFERENCE, tensorboard_name
from qtj_operator.api.status import InferencePhase, Status
from qtj_operator.controller.client import Object, Resource
from qtj_operator.core.failures import MAX_FAILURES
from qtj_operator.manifests.inference import inference_run
from tests.faults.pacing import Pacing

ENDS = (ConditionType.COMPLETE, ConditionType.FAILED)
STOPPED = (ConditionType.SUSPENDED, *ENDS)
NODE_TIME = timedelta(seconds=15)
"""What a node has after a pod's deadline, before the pod is removed without its word."""

EVENTS_OF_A_PASS = 5 + MAX_FAILURES
"""One for each condition, and one for each replica that is replaced."""


@dataclass
class Pass:
    """What the pass that is going on has done so far.

    Attributes:
        reads: The resourceVersion of what it reads.
        late: Whether the cluster has changed since.
        refused: Whether a child was refused, which is worth an event where it hinders nothing.
    """

    reads: int
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

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._lost: set[str] = set()
        """Uids of those whose pods were deleted without their nodes: such a Job is deleted with its pod."""
        self._pacing = Pacing(clock)
        self._known_finished: set[tuple[str, str, str]] = set()
        self._jobs: dict[str, Object] = {}
        self._read: dict[str, Job] = {}
        self._children: dict[tuple[Resource, str], Object] = {}
        self._born: dict[str, int] = {}
        self._counted: set[str] = set()
        self._runs: Counter[tuple[str, str]] = Counter()
        self._pass: Pass | None = None
        self.events = 0
        self.broken: list[str] = []

    def begins(self, version: int, behind: int) -> None:
        """A pass begins, which reads what there was so many changes ago."""
        self._pass = Pass(version - behind, late=behind > 0)

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
        """The operator asks for the deletion of what it has `seen`."""
        due = None if seen is None else seen["metadata"].get("deletionTimestamp")
        if seen is not None and force:
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
        if change.type == "ADDED":
            self._born[change.object["metadata"]["uid"]] = change.version
        if change.resource is Resource.QUANTUM_TRAINING_JOBS:
            self._job(change)
        elif change.resource is Resource.EVENTS:
            self.events += 1
            if self._pass is not None:
                self._pass.events += 1
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
            self._note(_wrong_expiry(self._parsed(before)))
            return
        self._pass.status_written = True
        self._demand(_the_users(before) == _the_users(change.object), "the operator touched what is the user's")
        old, new = self._parsed(before), self._parsed(change.object)
        self._pass.moves_record |= _record(old.status) != _record(new.status)
        self._note((*_wrong_conditions(old, new), *_wrong_end(old, new), *_wrong_counts(old, new)))
        if (new.status.attempt or 0) > 1 and new.status.attempt != old.status.attempt and not _is_resumed(old, new):
            self._note(self._pacing.began())
        known = {failure.uid for failure in old.status.failures or ()}
        counted = {failure.uid for failure in new.status.failures or ()} - known
        self._demand(self._counted.isdisjoint(counted), "a failure is counted once")
        self._counted |= counted

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
            seen = self._born[meta["uid"]] <= self._pass.reads
            self._demand(seen, f"{meta['name']} was deleted, which the pass had never seen")
            if change.resource is Resource.JOBS and not self._pass.late and meta["uid"] not in self._lost:
                self._note(_wrong_stop(change.object, self._parsed(raw)))

    def _created(self, change: Change, job: Job) -> None:
        if change.resource is Resource.JOBS:
            self._runs[job.uid, change.object["metadata"]["labels"][LABEL_INFERENCE]] += 1
        if self._pass is None or self._pass.late:
            return
        self._demand(not job.spec.suspend, "something was created for a suspended job")
        if change.object["metadata"]["name"] == tensorboard_name(job.name):
            return  # it is there for jobs that have ended too
        self._demand(
            not any(is_true(job.status.conditions, end) for end in ENDS), "something was created after the end"
        )
        if change.resource is Resource.JOBS:
            self._note(_wrong_inference(change.object, job))
        if change.resource is Resource.PODS:
            name = change.object["metadata"]["name"]
            self._demand((Resource.SERVICES, name) in self._children, "a pod has no Service")
            self._demand(not self.knows_finished(change.object), f"{name} had finished, and runs again")
            self._demand(not is_true(job.status.conditions, ConditionType.TRAINED), "it trains after training")
            attempts = self._attempts(job.uid)
            self._demand(attempts == {str(job.status.attempt)}, f"attempts {attempts} in attempt {job.status.attempt}")

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
            if resource is Resource.PODS and _controller(child) == uid
        }

    def _note(self, wrongs: Iterable[str]) -> None:
        self.broken += wrongs

    def _demand(self, holds: bool, otherwise: str) -> None:  # noqa: FBT001
        if not holds:
            self.broken.append(otherwise)


def wanted_run(job: Job) -> str | None:
    """Returns the digest of the inference run that the job asks for, or None without inference."""
    return None if job.inference is None else inference_run(job.inference, job.status.weights)


def _wrong_conditions(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    true = {condition.type for condition in after.conditions or () if condition.status == "True"}
    if (after.phase, after.reason) != phase_of(after.conditions):
        yield f"{after.phase}, {after.reason} does not follow from the conditions"
    if ConditionType.RUNNING in true and len(true) > 1:
        yield f"a job that runs does nothing else: {true}"
    if ConditionType.FAILED in true and true & {ConditionType.SUSPENDED, ConditionType.COMPLETE}:
        yield f"a job that has failed does nothing else: {true}"
    if is_true(before.conditions, ConditionType.TRAINED):
        if ConditionType.TRAINED not in true:
            yield "training was undone"
        if (before.weights, before.attempt) != (after.weights, after.attempt):
            yield "the weights or the attempt changed after training"


def _wrong_end(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    ended = [kind for kind in ENDS if is_true(before.conditions, kind)]
    ends = [kind for kind in ENDS if is_true(after.conditions, kind)]
    if (after.completion_time is not None) != bool(ends):
        yield "there is a completion time if and only if there is an end"
    if ended and ends and (ended, before.completion_time) != (ends, after.completion_time):
        yield f"{ended} became {ends}"
    if ended and not ends:
        another = wanted_run(new) not in {None, before.inference.run if before.inference else None}
        none = new.inference is None and ended == [ConditionType.FAILED]
        if not is_true(before.conditions, ConditionType.TRAINED) or not (another or none):
            yield f"{ended} was taken back, and the wanted inference is not another one"
    failed = find(after.conditions, ConditionType.FAILED)
    if failed and failed.status == "True" and not ended and failed.reason == Reason.DEADLINE_EXCEEDED:
        limit, start = new.policy.active_deadline_seconds, before.start_time
        if limit is None or start is None or (failed.last_transition_time - start).total_seconds() < limit:
            yield "the deadline has not passed"


def _wrong_counts(old: Job, new: Job) -> Iterator[str]:
    before, after = old.status, new.status
    restarted = (after.restarts or 0) - (before.restarts or 0)
    disrupted = (after.disruptions or 0) - (before.disruptions or 0)
    resumed = _is_resumed(old, new)
    if restarted < 0 or disrupted < 0:
        yield "restarts or disruptions were taken back"
    if (after.restarts or 0) > max(new.backoff_limit, before.restarts or 0):
        yield f"{after.restarts} restarts, and backoffLimit is {new.backoff_limit}"
    if len(after.failures or ()) > MAX_FAILURES:
        yield "too many failures are kept"
    if after.attempt != before.attempt:
        if after.attempt != (before.attempt or 0) + 1:
            yield f"attempt {before.attempt} was followed by {after.attempt}"
        if before.attempt and restarted + disrupted + resumed != 1:
            yield "an attempt has one reason"
    elif (restarted or disrupted) and not any(new.stands_alone(replica.role) for replica in new.replicas()):
        yield "a restart was counted without an attempt"


def _is_resumed(old: Job, new: Job) -> bool:
    suspended = ConditionType.SUSPENDED
    return is_true(old.status.conditions, suspended) and not is_true(new.status.conditions, suspended)


def _wrong_expiry(job: Job) -> Iterator[str]:
    if not any(is_true(job.status.conditions, kind) for kind in ENDS):
        yield "the job was deleted before its end"
    if job.policy.ttl_seconds_after_finished is None:
        yield "the job was deleted, which nobody asked for"


def _wrong_inference(created: Object, job: Job) -> Iterator[str]:
    run, done = created["metadata"]["labels"][LABEL_INFERENCE], job.status.inference
    if not is_true(job.status.conditions, ConditionType.TRAINED):
        yield "inference began before training had ended"
    if run != wanted_run(job):
        yield "inference began that nobody asks for"
    if done and done.run == run and done.phase == InferencePhase.COMPLETE:
        yield "inference ran again although its result is known"


def _wrong_stop(inference: Object, job: Job) -> Iterator[str]:
    wanted = inference["metadata"]["labels"].get(LABEL_INFERENCE) == wanted_run(job)
    if wanted and not any(is_true(job.status.conditions, kind) for kind in STOPPED):
        yield "inference was stopped although it is wanted"


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
    if "deletionTimestamp" in pod["metadata"]:
        return False
    ends = [each["state"].get("terminated", {}) for each in pod["status"].get("containerStatuses", ())]
    return LABEL_ATTEMPT in pod["metadata"]["labels"] and bool(ends) and ends[0].get("exitCode") == 0


def _controller(obj: Object) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")
