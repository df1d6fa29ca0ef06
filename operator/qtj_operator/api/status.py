"""The status of a job, which the operator writes."""

from collections.abc import Mapping
from enum import StrEnum
from operator import not_
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field

from qtj_operator.api.model import Model, Timestamp, WrittenStatus, null_as
from qtj_operator.api.platform_policy import PlatformPolicy

__all__ = [
    "FINISHED",
    "Condition",
    "ElasticStatus",
    "Failure",
    "InferencePhase",
    "InferenceStatus",
    "Phase",
    "ProfileStatus",
    "ProgressStatus",
    "ReplicaStatus",
    "ReplicaSteps",
    "Status",
    "StepsStatus",
    "Straggler",
    "TensorBoardStatus",
    "WeightsStatus",
]


T = TypeVar("T")
_Items = Annotated[tuple[T, ...], null_as(()), Field(exclude_if=not_)]
"""A list that is empty if the object has none, and left out if it is empty."""

_ByName = Annotated[Mapping[str, T], null_as({}), Field(exclude_if=not_)]
"""The same for a mapping."""


class Phase(StrEnum):
    """The phase that ``kubectl get`` shows; always derived from the conditions."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    INFERRING = "Inferring"
    COMPLETE = "Complete"
    FAILED = "Failed"


FINISHED = frozenset({Phase.COMPLETE, Phase.FAILED})
"""Phases of a job that is complete or has failed."""


class Condition(Model):
    """A metav1.Condition."""

    type: str = Field(description="Running, Suspended, Trained, Complete, Failed, SpecIgnored, Reconciling or Stalled.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field(description="One word for programs.")
    message: str = Field(description="One sentence for people.")
    observed_generation: int | None = Field(
        None,
        description="The spec's generation that this condition describes. Other controllers may leave it out.",
    )
    last_transition_time: Timestamp = Field(description="When the status last changed.")


class ReplicaStatus(Model):
    """Counts of one role's replicas."""

    desired: int = Field(
        description="How many the current attempt has. The next one has as many as the spec asks for then."
    )
    ready: int = Field(description="How many are running and ready.")
    succeeded: int = Field(description="How many ended with exit code 0.")
    failed: int = Field(description="How many of the current attempt failed.")
    succeeded_indexes: str | None = Field(
        None,
        description="Which of the current attempt ended with exit code 0, for example 0,2-5. They stay here when their "
        "pods are deleted, and are not run again.",
    )
    absent_indexes: str | None = Field(
        None,
        description="Which of them had not started when the leading replica ended with exit code 0, for example 1-3.",
    )


class ElasticStatus(Model):
    """The number of workers that `runPolicy.elastic` has led to."""

    workers: int = Field(description="How many workers each attempt has.")
    replicas: int = Field(
        description="How many the spec asked for when this was decided. Another number there ends this decision."
    )
    since: Timestamp = Field(description="When this was decided.")


class Failure(Model):
    """One replica that failed."""

    pod: str = Field(description="The pod's name.")
    attempt: int = Field(description="The attempt it belonged to.")
    exit_code: int | None = Field(
        None, description="Exit code of the training container, or of the init container that failed."
    )
    reason: str = Field(description="The kubelet's reason, for example Error, OOMKilled or Evicted.")
    message: str = Field(description="The program's last message.")
    node: str | None = Field(None, description="The node it ran on.")
    uid: str = Field(description="The pod's uid: a pod is counted once, however often it is seen.")
    time: Timestamp = Field(description="When the operator saw it.")


class ProgressStatus(Model):
    """How far training is, from the leading replica's progress endpoint."""

    epoch: int = Field(description="Epochs finished.")
    epochs: int | None = Field(None, description="Epochs asked for.")
    step: int | None = Field(None, description="Optimizer steps finished.")
    checkpoint_step: int | None = Field(None, description="Optimizer steps that the last stored checkpoint holds.")
    steps: int | None = Field(None, description="Optimizer steps of all epochs together.")
    devices: int | None = Field(None, description="Devices of all replicas that train.")
    loss: float | None = Field(None, description="Training loss of the last finished epoch.")
    accuracy: float | None = Field(None, description="Accuracy on the held-out set, 0 to 1.")
    validation_loss: float | None = Field(None, description="Loss on the held-out set after the last finished epoch.")
    training_accuracy: float | None = Field(
        None, description="Accuracy on the training set over the last finished epoch, as the model trained, 0 to 1."
    )
    examples_per_second: float | None = Field(None, description="Training examples per second over all replicas.")
    gradient_variance: float | None = Field(
        None,
        description="Variance over the components of the circuits' gradient; close to 0, it is a barren plateau.",
    )
    best_epoch: int | None = Field(
        None,
        description="With early stopping, the epoch with the lowest loss on the held-out set, whose weights are kept.",
    )
    metric: str | None = Field(
        None, description="The number that the program names first besides the loss, for example val_accuracy=0.94."
    )


class ProfileStatus(Model):
    """A profile that the job took of itself."""

    name: str = Field(description="When it started, for example epoch-3. One of `qtj profile` has an id too.")
    state: str = Field(description="Running, Stored or Failed.")
    path: str | None = Field(None, description="Its folder, relative to the artifacts.")
    error: str | None = Field(None, description="Why it failed, or of which replicas there is no profile.")

    def cut_off(self, ended: str) -> Self:
        """Returns the profile as failed, because what takes it has ended.

        Args:
            ended: What has: the attempt or the training.
        """
        return self.changed(state="Failed", error=f"{ended} ended before the profile was stored")


class ReplicaSteps(Model):
    """How long a replica takes for its part of a step."""

    replica: str = Field(description="Its name within the job, for example worker-1.")
    own_seconds: float = Field(
        description="Seconds of a step in which it does not wait for its peers: the median of its last steps."
    )


class Straggler(Model):
    """A replica for which its peers wait in each step."""

    replica: str = Field(description="Its name within the job, for example worker-1.")
    node: str | None = Field(None, description="The node it runs on.")
    own_seconds: float = Field(description="Its own part of a step when it was found, in seconds.")
    peer_seconds: float = Field(description="The median of that of its peers then.")
    since: Timestamp = Field(description="When it was found.")
    until: Timestamp | None = Field(None, description="When it was as fast as its peers again.")


class StepsStatus(Model):
    """How long the steps of the current attempt take, as its replicas measure them."""

    seconds: float = Field(description="Seconds of a step: the median of all replicas that have told it.")
    replicas: int = Field(description="How many replicas have told it.")
    least_own_seconds: float = Field(description="The own part of the fastest replica, in seconds.")
    median_own_seconds: float = Field(description="The median of the own parts of all replicas.")
    most_own_seconds: float = Field(description="The own part of the slowest replica.")
    slowest: _Items[ReplicaSteps] = Field((), description="The slowest replicas, at most 8, the slowest first.")
    stragglers: _Items[Straggler] = Field(
        (), description="Replicas that were stragglers in this attempt, at most 8, as they were found."
    )
    time: Timestamp = Field(
        description="When this was written. It is written again once a minute at most, if a time changes by a quarter."
    )


class WeightsStatus(Model):
    """The trained weights."""

    uri: str = Field(description="The object in the artifact store.")
    sha256: str | None = Field(
        None, description="Hex digest of its bytes. Left out if the spec named the weights: it is then not known."
    )


class InferencePhase(StrEnum):
    """How far inference is."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


class InferenceStatus(Model):
    """The inference Job of the current weights and the current `spec.inference`."""

    phase: InferencePhase = Field(
        description="Running (Pending while something keeps it from running), Suspended, Complete or Failed."
    )
    run: str = Field(description="Digest of the weights and of spec.inference that this run belongs to.")
    metrics: Mapping[str, float] | None = Field(None, description="What inference measured, by name.")
    result: str | None = Field(
        None, description="The file with all metrics, in the artifact store, if the program has stored one."
    )
    restarts: int | None = Field(
        None, description="How often it was run again because its Job vanished, or its pod before its result was read."
    )


class TensorBoardStatus(Model):
    """Where TensorBoard is."""

    url: str = Field(description="Its address in the cluster. `qtj tensorboard JOB` makes it reachable from outside.")
    ready: bool = Field(description="Whether it answers.")
    message: str | None = Field(None, description="Why it is not ready, in one sentence, if that is known.")


class Status(WrittenStatus):
    """What the operator has observed of the job. Only the operator writes it."""

    observed_generation: int | None = Field(None, description="The spec's generation that this status describes.")
    phase: Phase | None = Field(
        None, description="Pending, Running, Restarting, Suspended, Inferring, Complete or Failed."
    )
    reason: str | None = Field(None, description="Reason of the condition that the phase follows from.")
    ready: str | None = Field(None, description="Ready replicas of all, for example 2/2.")
    conditions: _Items[Condition] = Field(
        (),
        description="Running, Suspended, Trained, Complete, Failed and SpecIgnored, as kubectl wait reads them; "
        "Reconciling and Stalled, as kstatus reads them.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    attempt: int | None = Field(None, description="Number of the current attempt, from 1.")
    restarts: int | None = Field(None, description="Restarts of the gang that counted against backoffLimit.")
    disruptions: int | None = Field(
        None,
        description="Restarts after preemption, eviction or a lost node, or by a rule RestartIgnoringLimit, which do "
        "not count against backoffLimit.",
    )
    restarts_since_checkpoint: int | None = Field(
        None, description="Restarts that count against backoffLimit since the last new checkpoint."
    )
    checkpoint_step: int | None = Field(
        None, description="Optimizer steps in the last checkpoint when the last attempt ended."
    )
    retry: int | None = Field(None, description="The last spec.retry that the operator acted on.")
    start_time: Timestamp | None = Field(None, description="When the operator started the job.")
    first_running_time: Timestamp | None = Field(None, description="When all replicas first ran together.")
    active_since: Timestamp | None = Field(
        None,
        description="From when activeDeadlineSeconds counts: the start, the last resumption or retry, or the last "
        "change of spec.inference after the end.",
    )
    queued_since: Timestamp | None = Field(
        None,
        description="Since when a queue, or another scheduling gate, holds the job. No deadline counts this time.",
    )
    attempt_start_time: Timestamp | None = Field(
        None,
        description="When the pods of the current attempt were first created. Missing while the attempt waits for its "
        "pause, or for the deletion of earlier pods.",
    )
    last_running_attempt: int | None = Field(
        None,
        description="The last attempt in which all replicas that need one another ran together. One of them that has "
        "no pod after that was taken away.",
    )
    consecutive_failures: int | None = Field(
        None, description="Attempts in a row that ended early. The pause before the next attempt grows with them."
    )
    last_failure_time: Timestamp | None = Field(None, description="When the last attempt ended early.")
    peer_lost_time: Timestamp | None = Field(
        None, description="When a replica reported that it lost a peer, while the cause is not known yet."
    )
    platform_policy: PlatformPolicy | None = Field(
        None, description="Defaults and ceilings of the platform, as they were when the job started."
    )
    spec_digest: str | None = Field(
        None,
        description="Digest of the fields that cannot be changed once the job has started, as they were then.",
    )
    fixed_digest: str | None = Field(
        None, description="Digest of the same fields without the numbers of replicas, which can be changed."
    )
    completion_time: Timestamp | None = Field(None, description="When the job ended.")
    replicas: _ByName[ReplicaStatus] = Field({}, description="Counts by role.")
    elastic: ElasticStatus | None = Field(
        None, description="The number of workers by `runPolicy.elastic`, once that has changed it."
    )
    failures: _Items[Failure] = Field((), description="The last replicas that failed, newest last.")
    progress: ProgressStatus | None = Field(None, description="How far training is.")
    steps: StepsStatus | None = Field(
        None, description="How long steps take, in the whole gang and for its slowest replicas."
    )
    evaluation: ProgressStatus | None = Field(
        None, description="What the Evaluator has measured last, and at which epoch and step of the training."
    )
    profiles: _Items[ProfileStatus] = Field(
        (), description="The last profiles of `spec.profiler.captures` and of `qtj profile`, newest last."
    )
    metrics: Mapping[str, float] | None = Field(
        None, description="What the finished training measured, by name. Those of inference are in `inference`."
    )
    weights: WeightsStatus | None = Field(None, description="The trained weights.")
    inference: InferenceStatus | None = Field(None, description="How far inference is and what it measured.")
    report: str | None = Field(None, description="The page with the report of the job, in the artifact store.")
    tensorboard: TensorBoardStatus | None = Field(None, description="Where TensorBoard is, if the spec asks for it.")

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many replicas each role has in the current attempt."""
        return {role: counts.desired for role, counts in self.replicas.items()}
