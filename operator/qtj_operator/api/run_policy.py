"""`spec.runPolicy`: when to try again, when to stop, how pods are scheduled and what to clean up."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from qtj_operator.api.defaults import BACKOFF_LIMIT, LONGEST
from qtj_operator.api.model import Model
from qtj_operator.api.names import MAX_REPLICAS, Role

__all__ = [
    "BackoffLimit",
    "BackoffScope",
    "CleanPodPolicy",
    "DisruptionLimit",
    "Elastic",
    "FailureAction",
    "FailurePolicy",
    "FailureRule",
    "RunPolicy",
    "SchedulingPolicy",
    "Seconds",
    "SuccessPolicy",
    "TimeToLive",
]

_DOWN_AFTER = 120
_UP_AFTER = 600


class Elastic(Model):
    """How few and how many workers train, and how soon their number changes."""

    min_replicas: StrictInt = Field(
        description="The fewest workers that train. With fewer places, the job waits.", ge=1, le=MAX_REPLICAS
    )
    max_replicas: StrictInt | None = Field(
        None,
        description="The most workers that train, if the cluster has places for more than `replicas` of Worker. As "
        "many as that when left out.",
        ge=1,
        le=MAX_REPLICAS,
    )
    scale_down_after_seconds: StrictInt | None = Field(
        None,
        description="Training goes on with fewer workers when a place has been missing for this long since the loss "
        f"was seen. {_DOWN_AFTER} when left out. A cluster that adds nodes by itself needs longer than that takes.",
        ge=10,
        le=LONGEST,
    )
    scale_up_after_seconds: StrictInt | None = Field(
        None,
        description="How long the number of workers stays, before places for more are looked for. "
        f"{_UP_AFTER} when left out.",
        ge=10,
        le=LONGEST,
    )

    @property
    def down_after(self) -> int:
        """After how many seconds without a place training goes on with fewer workers."""
        return _DOWN_AFTER if self.scale_down_after_seconds is None else self.scale_down_after_seconds

    @property
    def up_after(self) -> int:
        """For how many seconds a number of workers stays, before places for more are looked for."""
        return _UP_AFTER if self.scale_up_after_seconds is None else self.scale_up_after_seconds

    def most(self, replicas: int) -> int:
        """Returns how many workers train at most.

        Args:
            replicas: How many the spec asks for.
        """
        return replicas if self.max_replicas is None else self.max_replicas

    def allows(self, workers: int, replicas: int) -> bool:
        """Tells whether so many workers may train.

        Args:
            workers: The number in question.
            replicas: How many the spec asks for.
        """
        return self.min_replicas <= workers <= self.most(replicas)


Seconds = Annotated[StrictInt, Field(ge=1, le=LONGEST)]
TimeToLive = Annotated[StrictInt, Field(ge=0, le=LONGEST)]
BackoffLimit = Annotated[StrictInt, Field(ge=0, le=1000)]
DisruptionLimit = Annotated[StrictInt, Field(ge=0, le=100_000)]

_LABEL_VALUE = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"


class CleanPodPolicy(StrEnum):
    """Which pods are deleted once the job has ended."""

    RUNNING = "Running"
    ALL = "All"
    NONE = "None"


class SuccessPolicy(StrEnum):
    """Which replicas have to succeed for training to succeed."""

    LEADER = "Leader"
    ALL_WORKERS = "AllWorkers"


class SchedulingPolicy(Model):
    """How the pods are scheduled."""

    queue_name: str | None = Field(
        None,
        description="Kueue's LocalQueue. The replicas of an attempt, without the evaluator, are one pod group: all are "
        "admitted, or none. So under strategy ParameterServer a worker that fails restarts them all.",
        min_length=1,
        max_length=63,
        pattern=_LABEL_VALUE,
    )
    gang: StrictBool | None = Field(
        None,
        description="Places all training replicas or none: a PodGroup is created and every replica's pod names it. The "
        "cluster has to serve those of Kubernetes (scheduling.k8s.io/v1beta1, from 1.37, off by default) or those of "
        "the coscheduling plugin (scheduling.x-k8s.io/v1alpha1). For the plugin, `schedulerName` in the template has "
        "to name its scheduler.",
    )


class FailureAction(StrEnum):
    """What to do when a replica fails."""

    FAIL = "Fail"
    RESTART = "Restart"
    RESTART_IGNORING_LIMIT = "RestartIgnoringLimit"


class FailureRule(Model):
    """What to do when a replica fails: the rule applies if everything that it names matches."""

    action: FailureAction = Field(
        description="Fail: the job fails. Restart: a restart that counts against backoffLimit. RestartIgnoringLimit: "
        "one that counts as a disruption."
    )
    exit_codes: list[Annotated[StrictInt, Field(ge=1, le=255)]] | None = Field(
        None, description="Exit codes of the training container. Any when left out.", min_length=1, max_length=255
    )
    reasons: list[Annotated[str, Field(min_length=1, max_length=63)]] | None = Field(
        None,
        description="Reasons as in status.failures, with their capitals: Error, OOMKilled, Evicted, StartError, "
        "ContainerStatusUnknown, NoProgress, or Disrupted for a pod that was gone before its end was seen. Any when "
        "left out.",
        min_length=1,
        max_length=64,
    )
    roles: list[Role] | None = Field(
        None, description="Roles of the replica. Any when left out.", min_length=1, max_length=len(Role)
    )


class FailurePolicy(Model):
    """What to do when a replica fails, by its exit code, reason and role."""

    rules: list[FailureRule] = Field(
        description="The first rule that applies decides, but no rule fails a job with its Evaluator. "
        "Without one, an exit code from 1 to 127 except 75 is final, "
        "disruptions restart without counting, and everything else restarts and counts.",
        max_length=20,
    )


class BackoffScope(StrEnum):
    """The period in which restarts are counted."""

    JOB = "Job"
    CHECKPOINT = "Checkpoint"


class RunPolicy(Model):
    """When to try again, when to stop and what to clean up."""

    backoff_limit: BackoffLimit | None = Field(
        None,
        description=f"How many restarts after retryable failures the job may have. {BACKOFF_LIMIT} when left out. "
        "Preemption, eviction by the cluster and lost nodes do not count. An eviction because the pod used more disk "
        "than its limits counts.",
    )
    disruption_limit: DisruptionLimit | None = Field(
        None,
        description="How many restarts the job may have after preemptions, evictions and lost nodes, and by rules with "
        "the action RestartIgnoringLimit. No limit when left out.",
    )
    backoff_limit_per: BackoffScope | None = Field(
        None,
        description="Which restarts backoffLimit counts: all of the Job (also when left out), or those since the last "
        "new Checkpoint, as the program reports it.",
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What to do when a replica fails, by its exit code, reason and role."
    )
    active_deadline_seconds: Seconds | None = Field(
        None,
        description="The job fails when it is not complete this long after its start. Time in which "
        "it is suspended, in a queue, or held by a scheduling gate does not count.",
    )
    pending_deadline_seconds: Seconds | None = Field(
        None,
        description="The job fails when its replicas are not all running after this long. Time "
        "in which they are in a queue, or held by a scheduling gate, does not count.",
    )
    progress_deadline_seconds: StrictInt | None = Field(
        None,
        description="The gang is restarted when no replica has taken a step for this long. The restart counts against "
        "backoffLimit. The time counts from the first step of an attempt, and stands still in checkpoints and "
        "evaluations. Choose at least three times the longest step. Hangs are not looked for when left out.",
        ge=10,
        le=LONGEST,
    )
    ttl_seconds_after_finished: TimeToLive | None = Field(
        None, description="The job is deleted, with its children, this long after its end."
    )
    clean_pod_policy: CleanPodPolicy | None = Field(
        None,
        description="Which pods to delete when the job has ended: Running (also when left out), All or None. A pod "
        "runs as long as any of its containers does. A running pod gets 30 s to end by itself.",
    )
    success_policy: SuccessPolicy | None = Field(
        None,
        description="Training succeeds when the leading replica has succeeded (Leader, also when left out; under "
        "strategy MultiWorkerMirrored, once the others have started), or when the chief and all workers have "
        "(AllWorkers).",
    )
    scheduling_policy: SchedulingPolicy | None = Field(None, description="How the pods are scheduled.")
    elastic: Elastic | None = Field(
        None,
        description="Training goes on with fewer workers while the cluster has no place for all, and with more when it "
        "has. The number is as in the spec when left out.",
    )

    @property
    def restarts(self) -> int:
        """How many restarts may count before the job fails."""
        return BACKOFF_LIMIT if self.backoff_limit is None else self.backoff_limit

    @property
    def pods_to_clean(self) -> CleanPodPolicy:
        """Which pods are deleted once the job has ended."""
        return self.clean_pod_policy or CleanPodPolicy.RUNNING

    @property
    def success(self) -> SuccessPolicy:
        """Which replicas have to succeed for training to succeed."""
        return self.success_policy or SuccessPolicy.LEADER
