"""What one pass observes: a job and its children, read once and immutable.

Terms used by every policy, for a job of two workers in attempt 2::

    qcnn-worker-0   attempt=1  Failed        superseded: a pod of an earlier attempt, to be deleted
    qcnn-worker-0   attempt=2  Running       current
    qcnn-worker-1   attempt=2  Failed (137)  lost: a current pod that failed
    qcnn-worker-1   (none)                   missing: to be created, once nothing superseded is left

Only the training container decides how a replica ended, because restartPolicy is Never. The pod's phase tells whether
it still uses its machine::

    trainer ended (0), proxy runs        Running     succeeded
    trainer ended (0), proxy ended (1)   Failed      succeeded
    trainer runs, proxy ended (1)        Running     running
    no container status                  Failed      failed: evicted, or its node is lost
    trainer ended (0), all have ended    Running     running: the phase follows, and with it who ended the pod
    trainer ended (0), Terminated        Failed      failed: the node shut down, and the program obeyed

A success is recorded when it is observed, so a replica stays finished when its pod is deleted:

    qcnn-worker-1   (none)   recorded       finished

Once the leader has finished, an attempt runs only the replicas that have not finished.

A pod keeps its name over all attempts, so the API server itself prevents two attempts of one replica at the same time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from qtj_contract import Progress
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role, replica_name
from qtj_operator.api.status import Failure
from qtj_operator.core.heard import Heard, is_late
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.observed_tensorboard import Board
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.platform import CLUSTER, Platform
from qtj_operator.core.pod import Pod
from qtj_operator.core.pod_group import NO_POD_GROUPS, PodGroups
from qtj_operator.core.service import Service

__all__ = ["Observed", "Told"]


@dataclass(frozen=True, slots=True)
class Told:
    """The last event about a pod.

    Attributes:
        is_warning: Whether something has failed.
        reason: Its reason, such as FailedMount.
        message: Its message, in one line.
    """

    is_warning: bool
    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Everything a decision may depend on, except the time.

    Derived values are computed once: a gang may have a thousand members, and many policies use them.

    Attributes:
        platform: Where its pods run.
        pods: Replica pods that this job controls, of any attempt.
        services: Services that this job controls, by name.
        pod_groups: Its pod groups, where it is a gang.
        inference: The inference Job, if it exists.
        earlier: Names of pods and Services that an earlier job of this name still has.
        progress: The last answer of the leader's progress endpoint.
        evaluation: The last answer of the evaluator's.
        heard: What replicas that are asked have told of their last steps.
        board: Its TensorBoard, if it may have one.
        obstacle: What the API server has refused, until it is tried again.
        told: What the last event about the pod says that takes long to start.
        namespace_ends: Whether its namespace is being deleted; asked only where what it runs is.
        looked: When the last pass over it was done; None where this operator has done none.
        repairs_due: When what others edit may be repaired again; None for now.
    """

    job: Job
    platform: Platform = CLUSTER
    pods: tuple[Pod, ...] = ()
    services: Mapping[str, Service]
    pod_groups: PodGroups = NO_POD_GROUPS
    inference: InferenceRun | None = None
    earlier: frozenset[str] = frozenset()
    progress: Progress | None = None
    evaluation: Progress | None = None
    heard: Mapping[ReplicaId, Heard] = field(default_factory=dict)
    board: Board | None = None
    obstacle: Obstacle | None = None
    told: Told | None = None
    namespace_ends: bool = False
    looked: datetime | None = None
    repairs_due: datetime | None = None

    @property
    def attempt(self) -> int:
        """The current attempt; 0 before the first."""
        return self.job.status.attempt or 0

    @property
    def restarts(self) -> int:
        """Restarts so far that count against the limit."""
        return self.job.status.restarts or 0

    @property
    def disruptions(self) -> int:
        """Restarts so far after disruptions."""
        return self.job.status.disruptions or 0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Replicas that failed, as the status lists them."""
        return self.job.status.failures

    @cached_property
    def current(self) -> tuple[Pod, ...]:
        """Pods of the current attempt, in the order of replicas."""
        mine = (pod for pod in self.pods if pod.attempt == self.attempt and not pod.probe)
        return tuple(sorted(mine, key=lambda pod: pod.name))

    @cached_property
    def probes(self) -> tuple[Pod, ...]:
        """Pods that find out, beside the gang of this attempt, whether there are places for more."""
        return tuple(pod for pod in self.pods if pod.attempt == self.attempt and pod.probe)

    @cached_property
    def superseded(self) -> tuple[Pod, ...]:
        """Pods of earlier attempts, but for those of replicas that have finished and do not run again.

        Probes are of use only while the gang trains.
        """
        earlier = (pod for pod in self.pods if pod.attempt != self.attempt)
        left = tuple(pod for pod in earlier if not (pod.stopped and pod.replica in self.finished))
        return left if not self.probes or self.may_grow else (*left, *self.probes)

    @property
    def may_grow(self) -> bool:
        """Whether the gang trains, and may get more workers."""
        job = self.job
        trains = job.is_running and self.gang_runs and not (job.is_trained or job.edited or self.leader_done)
        return trains and job.policy.elastic is not None and self.platform.shares_nodes

    @property
    def finished(self) -> frozenset[ReplicaId]:
        """Replicas of the current attempt whose success is recorded: their pods may be deleted for good."""
        return self.job.finished

    def has_failed(self, pod: Pod) -> bool:
        """Tells whether a pod has ended without success, and its replica has not finished by the record."""
        return pod.failed and pod.replica not in self.finished

    @cached_property
    def leader(self) -> Pod | None:
        """The current pod of the replica that stores the weights."""
        return next((pod for pod in self.current if pod.replica == self.job.leader), None)

    @property
    def leader_done(self) -> bool:
        """Whether the leader has ended with exit code 0, by the record or its pod: it never trains again."""
        return self.job.leader_finished or (self.leader is not None and self.leader.succeeded)

    @cached_property
    def evaluator(self) -> Pod | None:
        """The current pod of the replica that evaluates checkpoints."""
        return next((pod for pod in self.current if pod.replica and pod.replica.role == Role.EVALUATOR), None)

    @cached_property
    def asked(self) -> Mapping[ReplicaId, str]:
        """Replicas that can be asked for their progress, with their addresses: the leader and the evaluator.

        All that take steps together are asked once the leader is late, if somebody wants to know: each costs requests.
        """
        pods = [pod for pod in (self.leader, self.evaluator) if pod and pod.ready and not pod.deleting]
        limit, leader = self.job.policy.progress_deadline_seconds, self.heard.get(self.job.leader)
        if limit is not None and leader is not None and is_late(leader, limit / 4):
            pods += (pod for pod in self.stepping if pod.running and not pod.deleting)
        return {pod.replica: pod.address for pod in pods if pod.replica and pod.address}

    @cached_property
    def followers(self) -> Mapping[ReplicaId, str]:
        """The other replicas that take each step, which are asked now and then, with their addresses."""
        pods = (pod for pod in self.stepping if pod.running and not pod.deleting)
        asked = {pod.replica: pod.address for pod in pods if pod.replica and pod.address}
        return {replica: address for replica, address in asked.items() if replica not in self.asked}

    @cached_property
    def gang(self) -> tuple[Pod, ...]:
        """Current pods that need one another."""
        return tuple(pod for pod in self.current if pod.replica and not self.job.stands_alone(pod.replica.role))

    @cached_property
    def stepping(self) -> tuple[Pod, ...]:
        """Current pods that take each step together: with parameter servers, the chief counts the steps of all."""
        return tuple(pod for pod in self.gang if pod.replica and pod.replica.role != Role.PS)

    @cached_property
    def gang_runs(self) -> bool:
        """Whether all replicas that need one another run, or have succeeded."""
        return self.is_whole(pod for pod in self.gang if (pod.running or pod.succeeded) and not pod.deleting)

    def is_whole(self, pods: Iterable[Pod]) -> bool:
        """Tells whether each replica that the others need is among `pods`, or has finished."""
        present = {pod.replica for pod in pods} | self.finished
        return all(each in present or self.job.stands_alone(each.role) for each in self.job.replicas())

    @property
    def gang_has_run(self) -> bool:
        """Whether they have run together in this attempt, by the record: one without a pod was taken away."""
        return self.job.is_running or self.job.status.last_running_attempt == self.attempt

    @cached_property
    def lone_pods(self) -> tuple[Pod, ...]:
        """Current pods that the others do not need."""
        return tuple(pod for pod in self.current if pod.replica and self.job.stands_alone(pod.replica.role))

    @cached_property
    def missing(self) -> tuple[ReplicaId, ...]:
        """Replicas that have not finished and have no pod of any attempt."""
        present, job = {pod.name for pod in self.pods}, self.job.name
        left = (replica for replica in self.job.replicas() if replica not in self.finished)
        return tuple(each for each in left if replica_name(job, each.role, each.index) not in present)
