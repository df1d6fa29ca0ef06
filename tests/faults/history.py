"""What happened in a random life, and the ends that it allows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from qtj.local.store import ClusterStore
from qtj_contract import is_retryable
from qtj_operator.api.conditions import ConditionType, Reason, find, is_true
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_ATTEMPT
from qtj_operator.api.run_policy import CleanPodPolicy
from qtj_operator.api.status import InferencePhase, Phase
from qtj_operator.controller.client import Resource
from qtj_operator.core.pod import FINISHED
from tests.faults.deployments import wrong_board
from tests.faults.wrong import wanted_run
from tools.pod_status import NAMESPACE

_MOST_INFERENCES_LOST = 5


@dataclass
class History:
    """What has happened to one job.

    Attributes:
        policies: Every spec.runPolicy that it had.
        failures: Replicas that ended badly.
        final: Those with an exit code that is final.
        inference_failed: Whether a program of inference ended badly.
        inferences_lost: How often inference was deleted before its result was read, or after that.
        disruptions: Pods that were preempted, deleted, or missed with their node.
        leader_done: Whether a program of the leader has ended with exit code 0 by itself.
        late: Passes that read what was no longer so, and may have missed a pod.
    """

    policies: list[dict[str, Any]] = field(default_factory=list)
    deleted: bool = False
    failures: int = 0
    final: int = 0
    inference_failed: bool = False
    inferences_lost: int = 0
    disruptions: int = 0
    leader_done: bool = False
    late: int = 0

    def note(self, code: int, *, inferring: bool) -> None:
        """A program has ended."""
        self.inference_failed |= inferring and code != 0
        self.failures += code != 0
        self.final += not inferring and code != 0 and not is_retryable(code)

    def allows(self, reason: str | None) -> bool:
        """Tells whether the job may have failed for this reason."""
        allowed: dict[Reason, bool] = {
            Reason.REPLICA_FAILED: self.final > 0,
            Reason.BACKOFF_LIMIT_EXCEEDED: self.failures > min(p.get("backoffLimit", 3) for p in self.policies),
            Reason.INFERENCE_FAILED: self.inference_failed or self.inferences_lost > _MOST_INFERENCES_LOST,
            Reason.DEADLINE_EXCEEDED: any("activeDeadlineSeconds" in p for p in self.policies),
            Reason.PENDING_DEADLINE_EXCEEDED: any("pendingDeadlineSeconds" in p for p in self.policies),
        }
        return allowed.get(Reason(reason or ""), False)

    @property
    def expires(self) -> bool:
        """Whether the job may have been deleted after its end."""
        return any("ttlSecondsAfterFinished" in policy for policy in self.policies)


def wrong_end(store: ClusterStore, history: History) -> Iterator[str]:
    """Yields what is wrong with a cluster that has come to rest."""
    raw = next(store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {}), None)
    if raw is None:
        left = [child["metadata"]["name"] for kind in _CHILDREN for child in store.select(kind, NAMESPACE, {})]
        if left:
            yield f"{left} outlived the job"
        if not history.deleted and not history.expires:
            yield "the job is gone"
        return
    job = Job.parse(raw)
    yield from _wrong_phase(job, history)
    yield from _wrong_leftovers(store, job)
    yield from wrong_board(store, job)
    if (job.status.restarts or 0) > history.failures:
        yield f"{job.status.restarts} restarts after {history.failures} failures"
    if (job.status.disruptions or 0) > history.disruptions + history.late:
        yield f"{job.status.disruptions} disruptions, and {history.disruptions} pods were taken away"


_CHILDREN = (Resource.PODS, Resource.SERVICES, Resource.JOBS, Resource.DEPLOYMENTS)


def _wrong_phase(job: Job, history: History) -> Iterator[str]:
    status = job.status
    match status.phase:
        case Phase.SUSPENDED:
            if not job.spec.suspend:
                yield "the job was resumed and is suspended"
        case Phase.FAILED:
            if not history.allows(status.reason):
                yield f"the job failed for {status.reason}, and nothing led to that"
        case Phase.COMPLETE:
            yield from _wrong_result(job)
        case _:
            yield f"the job rests and is {status.phase}: {status}"


def _wrong_result(job: Job) -> Iterator[str]:
    status = job.status
    if not is_true(status.conditions, ConditionType.TRAINED):
        yield "the job is complete and has not trained"
    ignored = find(status.conditions, ConditionType.SPEC_IGNORED)
    if job.resizes and not (ignored and ignored.reason == Reason.RESIZE_IGNORED):
        yield f"{job.resizes} was neither done nor refused"
    if job.inference is None:
        return
    if status.inference is None or status.inference.phase != InferencePhase.COMPLETE:
        yield "the job is complete, and its inference is not"
    elif status.inference.run != wanted_run(job):
        yield "the inference that is recorded is not the one that is wanted"


def _wrong_leftovers(store: ClusterStore, job: Job) -> Iterator[str]:
    policy = job.policy.clean_pod_policy or CleanPodPolicy.RUNNING
    pods = [pod for pod in store.select(Resource.PODS, NAMESPACE, {}) if LABEL_ATTEMPT in pod["metadata"]["labels"]]
    active = [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] not in FINISHED]
    kept = policy == CleanPodPolicy.NONE and job.status.phase != Phase.SUSPENDED
    if active and not kept:
        yield f"{active} still run"
    if pods and policy == CleanPodPolicy.ALL and job.status.phase != Phase.SUSPENDED:
        yield "pods were to be cleaned up"
    for inference in store.select(Resource.JOBS, NAMESPACE, {}):
        if not inference.get("status") and not kept:
            yield "inference still runs"
