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

A success is recorded when it is seen, so a replica stays finished when its pod is deleted:

    qcnn-worker-1   (none)   recorded       finished

A pod keeps its name over all attempts, so the API server itself rules out two attempts of one replica side by side.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from qtj_operator.api.contract import Progress
from qtj_operator.api.indexes import parse_indexes
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import LABEL_INFERENCE, Role, replica_name
from qtj_operator.core.pod import Pod

__all__ = ["InferenceRun", "Observed", "is_controlled_by"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRun:
    """The inference Job and its pods.

    Attributes:
        run: Digest of the weights and the inference spec that it was created for.
        created: When.
        overdue: Whether it failed because its time was up.
        suspended: Whether its queue has not admitted it yet.
    """

    name: str
    uid: str
    version: str
    run: str
    created: datetime
    suspended: bool
    complete: bool
    failed: bool
    deleting: bool
    pods: tuple[Pod, ...]
    overdue: bool = False

    @classmethod
    def parse(cls, raw: Mapping[str, Any], pods: Iterable[Pod]) -> Self:
        """Reads the batch/v1 Job as the API server returns it, with its pods."""
        meta = raw["metadata"]
        done = {
            c["type"]: c.get("reason") for c in raw.get("status", {}).get("conditions") or () if c["status"] == "True"
        }
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            version=meta["resourceVersion"],
            run=meta.get("labels", {}).get(LABEL_INFERENCE, ""),
            created=datetime.fromisoformat(meta["creationTimestamp"]),
            suspended=bool(raw.get("spec", {}).get("suspend")),
            complete="Complete" in done,
            failed="Failed" in done,
            deleting="deletionTimestamp" in meta,
            pods=tuple(pods),
            overdue=done.get("Failed") == "DeadlineExceeded",
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
        evaluation: What the evaluator's said last.
    """

    job: Job
    pods: tuple[Pod, ...] = ()
    services: Mapping[str, Mapping[str, Any]]
    pod_group: bool = False
    inference: InferenceRun | None = None
    progress: Progress | None = None
    evaluation: Progress | None = None

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
    def finished(self) -> frozenset[ReplicaId]:
        """Replicas of the current attempt whose success is on record: their pods may go, and do not come again."""
        recorded = self.job.status.replicas or {}
        return frozenset(
            ReplicaId(role, index)
            for role, spec in self.job.spec.replica_specs
            if role in recorded
            for index in parse_indexes(recorded[role].succeeded_indexes, spec.replicas or 1)
        )

    @property
    def leader(self) -> Pod | None:
        """The current pod of the replica that stores the weights."""
        return next((pod for pod in self.current if pod.replica == self.job.leader), None)

    @property
    def evaluator(self) -> Pod | None:
        """The current pod of the replica that evaluates checkpoints."""
        return next((pod for pod in self.current if pod.replica and pod.replica.role == Role.EVALUATOR), None)

    @property
    def gang(self) -> tuple[Pod, ...]:
        """Current pods that cannot do without one another."""
        return tuple(pod for pod in self.current if pod.replica and not self.job.stands_alone(pod.replica.role))

    @property
    def lone_pods(self) -> tuple[Pod, ...]:
        """Current pods that the others can do without."""
        return tuple(pod for pod in self.current if pod.replica and self.job.stands_alone(pod.replica.role))

    def missing(self) -> Iterator[ReplicaId]:
        """Yields replicas that have not finished and have no pod of any attempt."""
        present, finished = {pod.name for pod in self.pods}, self.finished
        for replica in self.job.replicas():
            if replica not in finished and replica_name(self.job.name, replica.role, replica.index) not in present:
                yield replica


def is_controlled_by(raw: Mapping[str, Any], uid: str) -> bool:
    """Tells whether the object's controller is the owner with this uid."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == uid for owner in owners)
