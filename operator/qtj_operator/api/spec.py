"""The spec of a QuantumTrainingJob: what the user asks for.

``kubectl explain`` shows the descriptions. The schema has no defaults: the user's object stays as the user wrote it,
and the meaning of a missing field is decided where the field is read.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, StrictBool, StrictInt, model_validator

from qtj_contract import MAX_QUBITS, MIN_QUBITS
from qtj_operator.api.artifacts import Artifacts
from qtj_operator.api.defaults import INFERENCE_BACKOFF_LIMIT, LONGEST, REPLICAS
from qtj_operator.api.model import Model
from qtj_operator.api.names import MANAGER, MAX_REPLICAS, Role
from qtj_operator.api.profiler import Profiler
from qtj_operator.api.program import Program
from qtj_operator.api.rules import Rule, checked, enforce, validations
from qtj_operator.api.run_policy import Elastic, RunPolicy
from qtj_operator.api.template import ReadPodTemplate, UnreadPodTemplate
from qtj_operator.api.tensorboard import TensorBoard

__all__ = [
    "IMMUTABLE",
    "Circuit",
    "EngineDevice",
    "Inference",
    "Precision",
    "ReplicaService",
    "ReplicaSpec",
    "ReplicaSpecs",
    "Spec",
    "Strategy",
]

_ONE_CHIEF = Rule(
    "!has(self.replicas) || self.replicas == 1",
    lambda chief: chief.replicas in {None, 1},
    "a job has at most one Chief",
)
_ONE_EVALUATOR = Rule(
    "!has(self.replicas) || self.replicas == 1",
    lambda evaluator: evaluator.replicas in {None, 1},
    "a job has at most one Evaluator",
)
_USES_A_GPU = Rule(
    "!has(self.gpuMemory) || has(self.engineDevice) && self.engineDevice != 'cpu'",
    lambda circuit: circuit.gpu_memory is None or circuit.engine_device in {EngineDevice.AUTO, EngineDevice.GPU},
    "gpuMemory is for circuits on a GPU: set engineDevice to gpu or auto, or leave gpuMemory out",
    ".gpuMemory",
)
_SOME_ROLE = Rule(
    "has(self.Worker) || has(self.Chief)",
    lambda roles: any(role in {Role.CHIEF, Role.WORKER} for role, _ in roles),
    "name at least one role: Worker or Chief",
)


class Strategy(StrEnum):
    """How replicas train together; the names are those of ``tf.distribute``."""

    MULTI_WORKER_MIRRORED = "MultiWorkerMirrored"
    PARAMETER_SERVER = "ParameterServer"
    MIRRORED = "Mirrored"
    NONE = "None"


class Precision(StrEnum):
    """Precision of the amplitudes of a statevector."""

    SINGLE = "single"
    DOUBLE = "double"


class EngineDevice(StrEnum):
    """Where the trainer's engine computes circuits."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


class ReplicaService(StrEnum):
    """Which Services give replicas their DNS names."""

    PER_REPLICA = "PerReplica"
    SHARED = "Shared"


class ReplicaSpec(Model):
    """How many replicas of one role, and what they run."""

    replicas: StrictInt | None = Field(
        None, description=f"How many replicas of this role. {REPLICAS} when left out.", ge=1, le=MAX_REPLICAS
    )
    template: ReadPodTemplate | None = Field(
        None, description="Pod template of this role alone. The job's `template` when left out."
    )

    @property
    def count(self) -> int:
        """How many replicas of the role there are."""
        return self.replicas or REPLICAS


_FIELDS = tuple((role, role.task_type) for role in Role)
"""Each role with the field of `ReplicaSpecs` that has it."""


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
    ps: ReplicaSpec | None = Field(
        None, alias="PS", description="Parameter servers, which hold the variables under strategy ParameterServer."
    )
    evaluator: Annotated[ReplicaSpec, checked(_ONE_EVALUATOR)] | None = Field(
        None,
        alias="Evaluator",
        description="A replica beside the cluster that evaluates checkpoints. It is not part of TF_CONFIG's cluster, "
        "and training neither waits for it nor fails with it.",
        json_schema_extra=validations(_ONE_EVALUATOR),
    )

    def __iter__(self) -> Iterator[tuple[Role, ReplicaSpec]]:  # type: ignore[override]  # roles, not fields
        """Yields the roles of the job, the leading one first."""
        for role, field in _FIELDS:
            spec: ReplicaSpec | None = getattr(self, field)
            if spec is not None:
                yield role, spec


class Circuit(Model):
    """The quantum circuit to train. With it, a job that cannot fit its memory limit is refused before it starts."""

    model_config = ConfigDict(json_schema_extra=validations(_USES_A_GPU))

    qubits: StrictInt = Field(
        description="Number of qubits. A statevector takes 8 bytes times 2^qubits.", ge=MIN_QUBITS, le=MAX_QUBITS
    )
    filters: StrictInt | None = Field(
        None, description="Circuits evaluated side by side for each example. 1 when left out.", ge=1, le=1024
    )
    precision: Precision | None = Field(
        None, description="Precision of the amplitudes: single (8 bytes each, also when left out) or double (16 bytes)."
    )
    engine_device: EngineDevice | None = Field(
        None,
        description="Where the trainer's engine computes the circuit: cpu (also when left out); gpu, which is refused "
        "if it cannot be used; auto for a GPU if there is one that can be used and has room, and otherwise cpu.",
    )
    gpu_memory: Annotated[str, Field(pattern="^[0-9]{1,15}([KMGT]i|[kMGT])?$", max_length=20)] | None = Field(
        None,
        description="Memory of one GPU, such as 80Gi. With it, a job whose circuit cannot fit is refused before it "
        "starts if engineDevice is gpu.",
    )

    @model_validator(mode="after")
    def _follows_rules(self) -> Self:
        enforce(self, _USES_A_GPU)
        return self


class Inference(Model):
    """A Job that runs once training is done, in the leading replica's template or one of its own."""

    command: list[str] | None = Field(None, description="Replaces the container's command.", max_length=64)
    args: list[str] | None = Field(
        None,
        description="Replaces the container's args. When left out, they stay as they are: the same program, with the "
        "same arguments. The trainer's `train ...` becomes `infer`. With another `command` here there are none.",
        max_length=256,
    )
    backoff_limit: StrictInt | None = Field(
        None,
        description=f"Retries before inference counts as failed. {INFERENCE_BACKOFF_LIMIT} when left out.",
        ge=0,
        le=100,
    )
    active_deadline_seconds: StrictInt | None = Field(
        None, description="Inference fails when it is not done this long after its start.", ge=1, le=LONGEST
    )
    require_weights: StrictBool | None = Field(
        None,
        description="Inference fails if no weights are named. If this is false or left out, inference then runs "
        "without them, and QTJ_WEIGHTS_URI is not set.",
    )
    template: UnreadPodTemplate | None = Field(
        None, description="Pod template of inference alone. The leading replica's when left out."
    )

    @property
    def retries(self) -> int:
        """How often inference is tried again before it counts as failed."""
        return INFERENCE_BACKOFF_LIMIT if self.backoff_limit is None else self.backoff_limit


def _names(spec: "Spec", *roles: Role) -> bool:
    named = {role for role, _ in spec.replica_specs}
    return named.issuperset(roles)


IMMUTABLE = (
    "strategy",
    "template",
    "program",
    "replicaSpecs",
    "replicaService",
    "circuit",
    "artifacts",
    "profiler",
    "managedBy",
)
"""Fields that cannot be changed once the job has started, except for the numbers of replicas in `replicaSpecs`."""


def _scheduling(obj: str, field: str, default: str) -> str:
    """Returns the CEL of a field of the scheduling policy: optional types would be shorter, and cost too much."""
    path = f"{obj}.runPolicy.schedulingPolicy"
    return f"(has({obj}.runPolicy) && has({path}) && has({path}.{field}) ? {path}.{field} : {default})"


_SCHEDULED_ONCE = Rule(
    "(has(self.suspend) && self.suspend) || (has(oldSelf.suspend) && oldSelf.suspend) || "
    f"({_scheduling('self', 'gang', 'false')} == {_scheduling('oldSelf', 'gang', 'false')} && "
    f"{_scheduling('self', 'queueName', repr(''))} == {_scheduling('oldSelf', 'queueName', repr(''))})",
    lambda _: True,
    "runPolicy.schedulingPolicy cannot be changed while the job has pods: suspend it first",
)
_PARAMETER_SERVER = Rule(
    "!has(self.strategy) || self.strategy != 'ParameterServer' || "
    "(has(self.replicaSpecs.Chief) && has(self.replicaSpecs.PS) && has(self.replicaSpecs.Worker))",
    lambda spec: spec.strategy != Strategy.PARAMETER_SERVER or _names(spec, Role.CHIEF, Role.PS, Role.WORKER),
    "strategy ParameterServer needs the roles Chief (which coordinates), PS and Worker",
)
_NO_PARAMETER_SERVER = Rule(
    "!has(self.replicaSpecs.PS) || (has(self.strategy) && self.strategy in ['ParameterServer', 'None'])",
    lambda spec: not _names(spec, Role.PS) or spec.strategy in {Strategy.PARAMETER_SERVER, Strategy.NONE},
    "the role PS belongs to strategy ParameterServer",
)
_MIRRORED = Rule(
    "!has(self.strategy) || self.strategy != 'Mirrored' || (has(self.replicaSpecs.Chief) != "
    "has(self.replicaSpecs.Worker) && (!has(self.replicaSpecs.Worker) || "
    "!has(self.replicaSpecs.Worker.replicas) || self.replicaSpecs.Worker.replicas == 1))",
    lambda spec: (
        spec.strategy != Strategy.MIRRORED
        or sum(each.count for role, each in spec.replica_specs if role != Role.EVALUATOR) == 1
    ),
    "strategy Mirrored uses the devices of one pod: name one Worker, or use MultiWorkerMirrored",
)
_ROLE_RULES = (_PARAMETER_SERVER, _NO_PARAMETER_SERVER, _MIRRORED)


def _elastic(cel: str) -> str:
    """Returns the CEL that something holds for a job with elastic workers."""
    return f"!has(self.runPolicy) || !has(self.runPolicy.elastic) || {cel}"


def _workers(spec: "Spec") -> int:
    return next((each.count for role, each in spec.replica_specs if role == Role.WORKER), REPLICAS)


_ELASTIC_PATH = ".runPolicy.elastic"
_ELASTIC = f"self{_ELASTIC_PATH}"
_WORKERS = (
    "(has(self.replicaSpecs.Worker) && has(self.replicaSpecs.Worker.replicas) ? "
    f"self.replicaSpecs.Worker.replicas : {REPLICAS})"
)
_ELASTIC_WORKERS = Rule(
    _elastic(
        "(has(self.replicaSpecs.Worker) && (!has(self.strategy) || self.strategy in ['MultiWorkerMirrored', 'None']))"
    ),
    lambda spec: (
        spec.elastic is None
        or (_names(spec, Role.WORKER) and spec.strategy in {None, Strategy.MULTI_WORKER_MIRRORED, Strategy.NONE})
    ),
    "runPolicy.elastic changes the number of workers: it needs the role Worker and the strategy MultiWorkerMirrored or "
    "None",
    _ELASTIC_PATH,
)
_ELASTIC_MIN = Rule(
    _elastic(f"{_ELASTIC}.minReplicas <= {_WORKERS}"),
    lambda spec: spec.elastic is None or spec.elastic.min_replicas <= _workers(spec),
    "runPolicy.elastic.minReplicas is greater than the replicas of Worker: lower it, or raise them",
    _ELASTIC_PATH,
)
_ELASTIC_MAX = Rule(
    _elastic(f"!has({_ELASTIC}.maxReplicas) || {_ELASTIC}.maxReplicas >= {_WORKERS}"),
    lambda spec: spec.elastic is None or spec.elastic.most(_workers(spec)) >= _workers(spec),
    "runPolicy.elastic.maxReplicas is smaller than the replicas of Worker: raise it, or lower them",
    _ELASTIC_PATH,
)
_ELASTIC_ALONE = Rule(
    _elastic(f"(!{_scheduling('self', 'gang', 'false')} && {_scheduling('self', 'queueName', repr(''))} == '')"),
    lambda spec: spec.elastic is None or not spec.is_placed_together,
    "runPolicy.elastic needs pods that are placed one by one: remove gang and queueName from "
    "runPolicy.schedulingPolicy",
    _ELASTIC_PATH,
)
_ELASTIC_RULES = (_ELASTIC_WORKERS, _ELASTIC_MIN, _ELASTIC_MAX, _ELASTIC_ALONE)


class Spec(Model):
    """What to train, where, and with how many replicas."""

    model_config = ConfigDict(json_schema_extra=validations(_SCHEDULED_ONCE, *_ROLE_RULES, *_ELASTIC_RULES))

    strategy: Strategy | None = Field(
        None,
        description=(
            "How replicas train together. MultiWorkerMirrored, also when left out: every replica holds the model and "
            "gradients are summed over all of them at each step; a replica that fails restarts the whole gang. "
            "ParameterServer: the Chief coordinates, PS hold the variables, and a Worker that fails is replaced alone. "
            "Mirrored: one pod, all its devices. None: the program decides; TF_CONFIG is set, but not for one worker "
            "alone."
        ),
    )
    template: ReadPodTemplate = Field(
        description="Pod template of every replica and of the inference Job, unless they have their own."
    )
    program: Program | None = Field(
        None,
        description="The user's own program, if the image does not have it. Its folder is the working directory of "
        "the main container, unless that container sets workingDir.",
    )
    replica_specs: Annotated[ReplicaSpecs, checked(_SOME_ROLE)] = Field(
        description="The roles of the job and how many replicas each has. The numbers may be changed at any time: "
        "while the job trains, all replicas then restart from the last checkpoint.",
        json_schema_extra=validations(_SOME_ROLE),
    )
    replica_service: ReplicaService | None = Field(
        None,
        description="PerReplica, also when left out: each replica has a Service of its own, and is reached as "
        "JOB-ROLE-INDEX. Shared: all have one, with the name of the job, for jobs of hundreds of replicas; each is "
        "reached as JOB-ROLE-INDEX.JOB, and no template may set hostname or subdomain.",
    )
    circuit: Circuit | None = Field(None, description="The quantum circuit to train.")
    artifacts: Artifacts = Field(description="Where results are stored.")
    profiler: Profiler | None = Field(None, description="TensorFlow's profiler server in every replica.")
    tensorboard: TensorBoard | None = Field(
        None,
        description="Shows the curves in the folder logs below artifacts.uri, from the start of the job until it is "
        "deleted. Write {} for the defaults. It may be added, changed and removed at any time.",
    )
    inference: Inference | None = Field(
        None,
        description=(
            "Runs a Job once training is done, and records its metrics. No inference when left out. Changing it runs "
            "inference again without training again."
        ),
    )
    suspend: StrictBool | None = Field(
        None,
        description="While true, the job has no pods. It continues from its last checkpoint when it is false again.",
    )
    retry: StrictInt | None = Field(
        None,
        description="Raise it by one to continue a failed job from its last checkpoint, with a new count of "
        "restarts and a new deadline; inference that has failed runs again.",
        ge=0,
        le=2**31 - 1,
    )
    managed_by: str | None = Field(
        None,
        description=f"The controller that manages this job, if it is not {MANAGER}, for example "
        "kueue.x-k8s.io/multikueue. This operator then ignores it.",
        min_length=1,
        max_length=63,
    )
    run_policy: RunPolicy | None = Field(None, description="When to try again, when to stop and what to clean up.")

    @model_validator(mode="after")
    def _roles_fit_the_strategy(self) -> Self:
        enforce(self, *_ROLE_RULES, *_ELASTIC_RULES)
        return self

    @property
    def elastic(self) -> Elastic | None:
        """How the number of workers follows the places of the cluster, if it does."""
        return self.run_policy.elastic if self.run_policy else None

    @property
    def is_placed_together(self) -> bool:
        """Whether a queue or a scheduler places all replicas or none."""
        policy = self.run_policy.scheduling_policy if self.run_policy else None
        return policy is not None and (bool(policy.gang) or policy.queue_name is not None)
