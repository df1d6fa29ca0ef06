"""The world as one pass sees it: a job and its children, read once and frozen.

Terms used by every policy, for a job of two workers in attempt 2::

    qcnn-worker-0   attempt=1  Failed        superseded: an earlier attempt's pod, to be deleted
    qcnn-worker-0   attempt=2  Running       current
    qcnn-worker-1   attempt=2  Failed (137)  lost: a current pod that ended badly
    qcnn-worker-1   (none)                   missing: to be created, once nothing superseded is left

The training container alone decides how a replica ended, for its restartPolicy is Never; the pod's phase says whether
it still holds its machine::

    trainer ended (0), proxy runs        Running     succeeded
    trainer ended (0), proxy ended (1)   Failed      succeeded
    trainer runs, proxy ended (1)        Running     running
    no word of any container             Failed      failed: evicted, or its node is lost

A pod keeps its name over all attempts, so the API server itself rules out two attempts of one replica side by side.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from qtj_operator.api.contract import Progress, TerminationMessage, is_retryable
from qtj_operator.api.job import Job, ReplicaId, main_container
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_INFERENCE, LABEL_ROLE, Role, replica_name

__all__ = ["Ending", "InferenceRun", "Observed", "Pod", "Waiting", "is_controlled_by"]

_ENDS_OF_DELETED = {None, 0, 137, 143}
"""Exit codes of a program that was told to stop: it may obey in silence, or SIGTERM or SIGKILL ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a pod's training container ended, or the init container without which it could not start.

    Attributes:
        exit_code: None when the container never ran or its end is unknown, for example on a lost node.
        reason: The kubelet's word, for example Error, OOMKilled or Evicted.
        text: The raw termination message, or the kubelet's explanation.
        time: When, by the clock of its node; None when that is unknown.
        init: The init container that ended; None when it was the training container.
    """

    exit_code: int | None
    reason: str
    text: str
    time: datetime | None = None
    init: str | None = None

    @property
    def how(self) -> str:
        """Its exit code and the kubelet's word, for people."""
        if self.exit_code is None:
            return self.reason
        whose = f" of its init container {self.init}" if self.init else ""
        return f"exit code {self.exit_code}{whose}" + ("" if self.reason == "Error" else f", {self.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a container cannot start.

    Attributes:
        image: What that container runs.
        reason: The kubelet's word, for example ImagePullBackOff.
        message: The kubelet's explanation.
    """

    image: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A replica's pod, or one of the inference Job's.

    Attributes:
        replica: Which replica it is; None for an inference pod.
        attempt: The attempt it was created for; 0 for an inference pod.
        deadline: When its node is to have stopped it, once it is being deleted.
        waiting: Why a container cannot start, if one cannot.
        unscheduled: Why no node takes it, in the scheduler's words.
        disrupted: Preempted, evicted, or on a node that went away.
    """

    name: str
    uid: str
    version: str
    replica: ReplicaId | None
    attempt: int
    phase: str
    ready: bool
    deadline: datetime | None
    node: str | None
    address: str | None
    ending: Ending | None
    waiting: Waiting | None
    unscheduled: str | None
    disrupted: bool

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Reads a pod as the API server returns it."""
        meta, status = raw["metadata"], raw.get("status", {})
        labels = meta.get("labels", {})
        conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
        scheduled = conditions.get("PodScheduled", {})
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            version=meta["resourceVersion"],
            replica=_replica_id(labels),
            attempt=_label_number(labels, LABEL_ATTEMPT),
            phase=status.get("phase", "Pending"),
            ready=conditions.get("Ready", {}).get("status") == "True",
            deadline=_moment(meta.get("deletionTimestamp")),
            node=raw["spec"].get("nodeName"),
            address=status.get("podIP"),
            ending=_ending(raw),
            waiting=_waiting(status),
            unscheduled=scheduled.get("message") if scheduled.get("status") == "False" else None,
            disrupted=conditions.get("DisruptionTarget", {}).get("status") == "True",
        )

    @property
    def deleting(self) -> bool:
        """Whether somebody has asked for its deletion."""
        return self.deadline is not None

    @property
    def active(self) -> bool:
        """Whether it still uses, or waits for, a machine."""
        return not self.stopped and not self.deleting

    @property
    def stopped(self) -> bool:
        """Whether none of its containers runs any more."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def lingers(self) -> bool:
        """Whether its program has ended and a sidecar runs on."""
        return self.ending is not None and not self.stopped

    @property
    def running(self) -> bool:
        """Whether its program runs, as far as its node has told."""
        return self.phase == "Running" and self.ending is None

    @property
    def failed(self) -> bool:
        """Whether its program ended badly, whatever the other containers do."""
        return self.phase == "Failed" if self.ending is None else self.ending.exit_code != 0

    @property
    def succeeded(self) -> bool:
        """Whether its program ended with exit code 0, whatever the other containers do."""
        return self.phase == "Succeeded" if self.ending is None else self.ending.exit_code == 0

    @property
    def taken_away(self) -> bool:
        """Whether it is preempted, evicted or deleted, and has not ended in another way than that makes a pod end."""
        if self.disrupted or not self.deleting or self.ending is None:
            return self.disrupted or self.deleting
        return self.ending.exit_code in _ENDS_OF_DELETED and self.ending.reason != "OOMKilled"

    @property
    def retryable(self) -> bool:
        """Whether the contract allows to run it again; an end without exit code was not the program's choice."""
        code = self.ending.exit_code if self.ending else None
        return self.taken_away or code is None or is_retryable(code)

    @property
    def message(self) -> TerminationMessage | None:
        """The termination message, if the program left one that follows the contract."""
        return TerminationMessage.parse(self.ending.text) if self.ending else None

    @property
    def last_words(self) -> str:
        """One line on how it ended, for people."""
        if self.ending is None:
            return _SILENT
        if self.ending.reason == "OOMKilled":
            return "it needed more memory than resources.limits.memory allows"
        said = self.message
        if said is None and self.ending.exit_code in _KILLED:
            return _KILLED[self.ending.exit_code]
        text = (said.error if said else None) or _last_line(self.ending.text) or _SILENT
        return " ".join(text.split()).rstrip(".")[:500]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRun:
    """The inference Job and its pods.

    Attributes:
        run: Digest of the weights and the inference spec that it was created for.
        created: When.
    """

    name: str
    uid: str
    version: str
    run: str
    created: datetime
    complete: bool
    failed: bool
    deleting: bool
    pods: tuple[Pod, ...]

    @classmethod
    def parse(cls, raw: Mapping[str, Any], pods: Iterable[Pod]) -> Self:
        """Reads the batch/v1 Job as the API server returns it, with its pods."""
        meta = raw["metadata"]
        done = {c["type"] for c in raw.get("status", {}).get("conditions") or () if c["status"] == "True"}
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            version=meta["resourceVersion"],
            run=meta.get("labels", {}).get(LABEL_INFERENCE, ""),
            created=datetime.fromisoformat(meta["creationTimestamp"]),
            complete="Complete" in done,
            failed="Failed" in done,
            deleting="deletionTimestamp" in meta,
            pods=tuple(pods),
        )

    @property
    def done(self) -> bool:
        """Whether the program has done its work; its Job waits for a sidecar of its pod, and fails with one."""
        best = self.result
        if self.complete or best is None:
            return self.complete
        return best.succeeded and not best.taken_away and (self.failed or best.lingers)

    @property
    def given_up(self) -> bool:
        """Whether the program will not be run again; its Job would wait for a sidecar to say so."""
        best = self.result
        if self.done or best is None:
            return self.failed and not self.done
        return self.failed or (best.failed and not best.retryable and best.lingers)

    @property
    def result(self) -> Pod | None:
        """The pod that succeeded, or else one that failed, for good if there is one."""
        ended = (pod for pod in self.pods if pod.ending)
        return min(ended, key=lambda pod: (not pod.succeeded, pod.retryable, pod.name), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Everything a decision may depend on, except the time.

    Attributes:
        pods: Replica pods that this job controls, of any attempt.
        services: Services that this job controls, raw, by name.
        pod_group: Whether this job's PodGroup exists.
        inference: The inference Job, if it exists.
        progress: What the leading replica's progress endpoint said last.
    """

    job: Job
    pods: tuple[Pod, ...] = ()
    services: Mapping[str, Mapping[str, Any]]
    pod_group: bool = False
    inference: InferenceRun | None = None
    progress: Progress | None = None

    @property
    def attempt(self) -> int:
        """The current attempt; 0 before the first."""
        return self.job.status.attempt or 0

    @property
    def current(self) -> tuple[Pod, ...]:
        """Pods of the current attempt, in the order of replicas."""
        return tuple(sorted((p for p in self.pods if p.attempt == self.attempt), key=lambda p: p.name))

    @property
    def superseded(self) -> tuple[Pod, ...]:
        """Pods of earlier attempts."""
        return tuple(pod for pod in self.pods if pod.attempt != self.attempt)

    @property
    def leader(self) -> Pod | None:
        """The current pod of the replica that stores the weights."""
        return next((pod for pod in self.current if pod.replica == self.job.leader), None)

    @property
    def gang(self) -> tuple[Pod, ...]:
        """Current pods that cannot do without one another."""
        return tuple(pod for pod in self.current if pod.replica and not self.job.stands_alone(pod.replica.role))

    @property
    def loners(self) -> tuple[Pod, ...]:
        """Current pods that the others can do without."""
        return tuple(pod for pod in self.current if pod.replica and self.job.stands_alone(pod.replica.role))

    def missing(self) -> Iterator[ReplicaId]:
        """Yields replicas that have no pod of any attempt."""
        present = {pod.name for pod in self.pods}
        for replica in self.job.replicas():
            if replica_name(self.job.name, replica.role, replica.index) not in present:
                yield replica


_SILENT = "it left no message"
_KILLED = {137: "it was killed (SIGKILL)", 143: "it was told to end (SIGTERM)"}
"""By exit code, 128 and the signal's number: whatever its log ends with, such a program had no time to say why."""


def _last_line(text: str) -> str:
    """Returns the line that says what happened: what a kubelet takes from a log ends with it."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def is_controlled_by(raw: Mapping[str, Any], uid: str) -> bool:
    """Tells whether the object's controller is the owner with this uid."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == uid for owner in owners)


def _replica_id(labels: Mapping[str, str]) -> ReplicaId | None:
    role = next((role for role in Role if role.task_type == labels.get(LABEL_ROLE)), None)
    return None if role is None else ReplicaId(role, _label_number(labels, LABEL_INDEX))


def _label_number(labels: Mapping[str, str], label: str) -> int:
    """Reads a number from a label; anybody may edit one, so that a pod with nonsense belongs to no attempt of ours."""
    text = labels.get(label, "")
    return int(text) if text.isdecimal() else 0


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _main_status(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    name = main_container(raw["spec"]["containers"])["name"]
    statuses = raw.get("status", {}).get("containerStatuses") or ()
    return next((status for status in statuses if status["name"] == name), {})


def _ending(raw: Mapping[str, Any]) -> Ending | None:
    status = raw.get("status", {})
    ended = _terminated(_main_status(raw))
    if ended:
        return _ending_of(ended)
    if status.get("phase") != "Failed":
        return None
    init = _failed_init(raw)
    if init is None or "reason" in status:  # the kubelet has a word of its own when it was not the containers' doing
        return Ending(exit_code=None, reason=status.get("reason", "Failed"), text=status.get("message", ""))
    return _ending_of(_terminated(init), init["name"])


def _ending_of(terminated: Mapping[str, Any], init: str | None = None) -> Ending:
    return Ending(
        exit_code=terminated["exitCode"],
        reason=terminated.get("reason", "Error"),
        text=terminated.get("message", "").strip(),
        time=_moment(terminated.get("finishedAt")),
        init=init,
    )


def _failed_init(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the init container that failed; a native sidecar among them is none, for it may end as it likes."""
    sidecars = {init["name"] for init in raw["spec"].get("initContainers") or () if init.get("restartPolicy")}
    statuses = raw["status"].get("initContainerStatuses") or ()
    once = (status for status in statuses if status["name"] not in sidecars)
    return next((status for status in once if _terminated(status).get("exitCode")), None)


def _terminated(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return container.get("state", {}).get("terminated") or {}


def _waiting(status: Mapping[str, Any]) -> Waiting | None:
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = container.get("state", {}).get("waiting") or {}
        if "reason" in state:
            return Waiting(image=container.get("image", ""), reason=state["reason"], message=state.get("message", ""))
    return None
