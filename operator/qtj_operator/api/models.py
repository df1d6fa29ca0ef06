"""The QuantumTrainingJob as pydantic models: the one source of the CRD, of validation and of the status we write.

Descriptions are the text of ``kubectl explain``. Nothing has a default in the schema: the user's object stays as the
user wrote it, and what a missing field means is decided where it is read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

from qtj_operator.api.names import MAX_REPLICAS, Role
from qtj_operator.api.rules import Rule, checked, validations
from qtj_operator.api.template import PodTemplate

__all__ = [
    "Artifacts",
    "Circuit",
    "Condition",
    "Failure",
    "Inference",
    "InferencePhase",
    "InferenceStatus",
    "Phase",
    "Profiler",
    "ProgressStatus",
    "ReplicaSpec",
    "ReplicaSpecs",
    "ReplicaStatus",
    "RunPolicy",
    "Spec",
    "Status",
    "Strategy",
    "Timestamp",
    "WeightsStatus",
]


class Model(BaseModel):
    """Immutable, camelCase outside and snake_case inside, and no field that we do not know."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


Timestamp = Annotated[
    datetime,
    PlainSerializer(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ"), return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment to the second in UTC, as Kubernetes writes it."""

_BUCKET_PATTERN = "^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/.*)?$"

_KNOWN_STORE = Rule(
    "self.startsWith('gs://') || self.startsWith('file:///')",
    lambda uri: uri.startswith(("gs://", "file:///")),
    "must begin with gs:// (a bucket) or file:/// (a volume that every replica mounts)",
)
_VALID_BUCKET = Rule(
    f"!self.startsWith('gs://') || self.matches('{_BUCKET_PATTERN}')",
    lambda uri: not uri.startswith("gs://") or re.fullmatch(_BUCKET_PATTERN, uri) is not None,
    "names no valid bucket: write gs://BUCKET/PATH",
)
_ONE_CHIEF = Rule(
    "!has(self.replicas) || self.replicas == 1",
    lambda chief: chief.replicas in {None, 1},
    "a job has at most one Chief",
)
_SOME_ROLE = Rule(
    "has(self.Worker) || has(self.Chief)",
    lambda roles: any(True for _ in roles),
    "name at least one role: Worker or Chief",
)
_FREE_PORT = Rule(
    "self != 2222 && self != 2224",
    lambda port: port not in {2222, 2224},
    "port 2222 is taken by gRPC and 2224 by metrics: choose another",
)


class Strategy(StrEnum):
    """How replicas train together; the names are those of ``tf.distribute``."""

    MULTI_WORKER_MIRRORED = "MultiWorkerMirrored"


class ReplicaSpec(Model):
    """How many replicas of one role, and what they run."""

    replicas: int | None = Field(
        None, description="How many replicas of this role. 1 when left out.", ge=1, le=MAX_REPLICAS
    )
    template: PodTemplate | None = Field(
        None, description="Pod template of this role alone. The job's `template` when left out."
    )


class ReplicaSpecs(Model):
    """The roles of a job."""

    chief: Annotated[ReplicaSpec, checked(_ONE_CHIEF)] | None = Field(
        None,
        alias="Chief",
        description="A leading replica beside the workers: it trains as well, and stores checkpoints and weights.",
        json_schema_extra=validations(_ONE_CHIEF),
    )
    worker: ReplicaSpec | None = Field(
        None,
        alias="Worker",
        description="Replicas that train. Without a Chief, worker 0 leads: it stores checkpoints and weights.",
    )

    def __iter__(self) -> Iterator[tuple[Role, ReplicaSpec]]:  # type: ignore[override]  # roles, not fields
        """Yields the roles that the job has, the one that leads first."""
        for role, spec in ((Role.CHIEF, self.chief), (Role.WORKER, self.worker)):
            if spec is not None:
                yield role, spec


class Circuit(Model):
    """The quantum circuit to train."""

    qubits: int = Field(description="Number of qubits. A statevector takes 8 bytes times 2^qubits.", ge=2, le=40)


class Artifacts(Model):
    """Where results go."""

    uri: Annotated[str, checked(_KNOWN_STORE, _VALID_BUCKET)] = Field(
        description=(
            "Folder for weights, held-out data and results: gs://BUCKET/PATH, or file:///PATH on a volume that every "
            "replica mounts."
        ),
        max_length=1024,
        json_schema_extra=validations(_KNOWN_STORE, _VALID_BUCKET),
    )


class Profiler(Model):
    """TensorFlow's profiler server in every replica."""

    port: Annotated[int, Field(ge=1024, le=65535), checked(_FREE_PORT)] | None = Field(
        None,
        description="Port of the profiler server, on the pod and on its Service. 2223 when left out.",
        json_schema_extra=validations(_FREE_PORT),
    )


class Inference(Model):
    """A Job that runs once the weights are stored, in the leading replica's template."""

    command: list[str] | None = Field(None, description="Replaces the container's command.", max_length=64)
    args: list[str] | None = Field(
        None, description='Replaces the container\'s args. ["infer"] when left out.', max_length=256
    )
    backoff_limit: int | None = Field(
        None, description="Retries before inference counts as failed. 2 when left out.", ge=0, le=100
    )


class RunPolicy(Model):
    """When to try again and when to stop."""

    backoff_limit: int | None = Field(
        None,
        description="Restarts of the whole gang after a retryable failure before the job fails. 3 when left out.",
        ge=0,
        le=1000,
    )


class Spec(Model):
    """What to train, where, and with how many replicas."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": f"has(self.{field}) == has(oldSelf.{field}) "
                    f"&& (!has(self.{field}) || self.{field} == oldSelf.{field})",
                    "message": f"{field} cannot be changed once the job exists: create a job with another name",
                }
                for field in ("strategy", "template", "replicaSpecs", "circuit", "artifacts", "profiler")
            ]
        }
    )

    strategy: Strategy | None = Field(
        None,
        description=(
            "How replicas train together. MultiWorkerMirrored, also when left out: every replica holds the model and "
            "gradients are summed over all of them at each step; a replica that fails restarts the whole gang."
        ),
    )
    template: PodTemplate = Field(description="Pod template of every replica and of the inference Job.")
    replica_specs: Annotated[ReplicaSpecs, checked(_SOME_ROLE)] = Field(
        description="The roles of the job and how many replicas each has.",
        json_schema_extra=validations(_SOME_ROLE),
    )
    circuit: Circuit | None = Field(None, description="The quantum circuit to train.")
    artifacts: Artifacts = Field(description="Where results go.")
    profiler: Profiler | None = Field(None, description="TensorFlow's profiler server in every replica.")
    inference: Inference | None = Field(
        None,
        description=(
            "Runs a Job once the weights are stored, and records its metrics. No inference when left out. Changing it "
            "runs inference again without training again."
        ),
    )
    run_policy: RunPolicy | None = Field(None, description="When to try again and when to stop.")


class Phase(StrEnum):
    """The one word that ``kubectl get`` shows; always derived from the conditions."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    INFERRING = "Inferring"
    COMPLETE = "Complete"
    FAILED = "Failed"


class Condition(Model):
    """A metav1.Condition."""

    type: str = Field(description="Running, Trained, Complete or Failed.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field(description="One word for programs.")
    message: str = Field(description="One sentence for people.")
    observed_generation: int = Field(description="The spec's generation that this condition speaks of.")
    last_transition_time: Timestamp = Field(description="When the status last changed.")


class ReplicaStatus(Model):
    """Counts of one role's replicas."""

    desired: int = Field(description="How many the spec asks for.")
    ready: int = Field(description="How many are running and ready.")
    succeeded: int = Field(description="How many ended with exit code 0.")
    failed: int = Field(description="How many of the current attempt ended otherwise.")


class Failure(Model):
    """One replica that ended badly."""

    pod: str = Field(description="The pod's name.")
    attempt: int = Field(description="The attempt it belonged to.")
    exit_code: int | None = Field(None, description="Exit code of the training container, when it had one.")
    reason: str = Field(description="The kubelet's word for it, for example Error, OOMKilled or Evicted.")
    message: str = Field(description="What the program said last.")
    time: Timestamp = Field(description="When the operator saw it.")


class ProgressStatus(Model):
    """How far training is, from the leading replica's progress endpoint."""

    epoch: int = Field(description="Epochs finished.")
    epochs: int = Field(description="Epochs asked for.")
    step: int = Field(description="Optimizer steps finished.")
    loss: float | None = Field(None, description="Training loss of the last finished epoch.")
    accuracy: float | None = Field(None, description="Sign accuracy on the held-out set, 0 to 1.")
    examples_per_second: float | None = Field(None, description="Training examples per second over all replicas.")


class WeightsStatus(Model):
    """The trained weights."""

    uri: str = Field(description="The object in the artifact store.")
    sha256: str = Field(description="Hex digest of its bytes.")


class InferencePhase(StrEnum):
    """How far inference is."""

    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"


class InferenceStatus(Model):
    """The inference Job of the current weights and the current `spec.inference`."""

    phase: InferencePhase = Field(description="Running, Complete or Failed.")
    run: str = Field(description="Digest of the weights and of spec.inference that this run belongs to.")
    metrics: Mapping[str, float] | None = Field(None, description="What inference measured, by name.")


class Status(Model):
    """What the operator knows of the job. The operator alone writes it."""

    observed_generation: int | None = Field(None, description="The spec's generation that this status speaks of.")
    phase: Phase | None = Field(None, description="Pending, Running, Restarting, Inferring, Complete or Failed.")
    reason: str | None = Field(None, description="Reason of the condition that the phase follows from.")
    ready: str | None = Field(None, description="Ready replicas of all, for example 2/2.")
    conditions: tuple[Condition, ...] | None = Field(
        None,
        description="Running, Trained, Complete and Failed, as kubectl wait reads them.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    attempt: int | None = Field(None, description="Number of the current attempt, from 1.")
    restarts: int | None = Field(None, description="Restarts of the gang that counted against backoffLimit.")
    disruptions: int | None = Field(
        None, description="Restarts after preemption, eviction or a lost node, which do not count against backoffLimit."
    )
    start_time: Timestamp | None = Field(None, description="When the operator took the job up.")
    completion_time: Timestamp | None = Field(None, description="When the job ended.")
    replicas: Mapping[str, ReplicaStatus] | None = Field(None, description="Counts by role.")
    failures: tuple[Failure, ...] | None = Field(None, description="The last replicas that ended badly, newest last.")
    progress: ProgressStatus | None = Field(None, description="How far training is.")
    weights: WeightsStatus | None = Field(None, description="The trained weights.")
    inference: InferenceStatus | None = Field(None, description="How far inference is and what it measured.")

    def to_dict(self) -> dict[str, Any]:
        """Returns the status as the API server stores it."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")
