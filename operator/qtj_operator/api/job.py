"""A QuantumTrainingJob as the rest of the operator reads it: the object's models and what its missing fields mean."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from qtj_operator.api.names import MANAGER, Role
from qtj_operator.api.spec import Inference, RunPolicy, Spec, Strategy
from qtj_operator.api.status import Status

__all__ = [
    "GRPC_PORT",
    "METRICS_PORT",
    "NO_SUCH_FIELD",
    "WRONG_TYPE",
    "InvalidJob",
    "Job",
    "ReplicaId",
    "dotted",
    "faults",
    "is_managed_elsewhere",
    "main_container",
    "read_status",
]

C = TypeVar("C", bound=Mapping[str, Any])

GRPC_PORT = 2222
METRICS_PORT = 2224
_DEFAULT_PROFILER_PORT = 2223
_DEFAULT_BACKOFF_LIMIT = 3
_MAIN_CONTAINER = "trainer"

NO_SUCH_FIELD = "there is no such field"
_MAPPING = "this has to be a mapping: write its fields below it"
WRONG_TYPE = {
    "model_type": _MAPPING,
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "list_type": "this has to be a list",
    "string_type": "this has to be text: put it in quotes",
    "int_type": "this has to be a whole number, without quotes",
    "bool_type": "this has to be true or false, without quotes",
}
"""What pydantic says of Python's types, by its names for them, for somebody who writes YAML."""
_WORDS = {"extra_forbidden": NO_SUCH_FIELD, **WRONG_TYPE}


class InvalidJob(ValueError):  # noqa: N818  it names what is wrong, as httpx's InvalidURL does
    """An object that no model accepts; the message is one sentence for its author."""


@dataclass(frozen=True, slots=True, order=True)
class ReplicaId:
    """One replica: its role and its number within the role."""

    role: Role
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One QuantumTrainingJob.

    Attributes:
        name: metadata.name.
        namespace: metadata.namespace.
        uid: metadata.uid.
        version: metadata.resourceVersion.
        generation: metadata.generation, which moves with the spec.
        deleting: Whether the object is on its way out.
        spec: What the user wants.
        status: What the operator wrote last.
    """

    name: str
    namespace: str
    uid: str
    version: str
    generation: int
    deleting: bool
    spec: Spec
    status: Status

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Reads an object as the API server returns it.

        Raises:
            InvalidJob: The spec breaks a rule of the schema, which an object stored before that rule existed may do.
        """
        meta = raw["metadata"]
        try:
            spec = Spec.read(raw.get("spec", {}))
        except ValidationError as error:
            raise InvalidJob(_sentence(error)) from None
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            uid=meta["uid"],
            version=meta["resourceVersion"],
            generation=meta.get("generation", 1),
            deleting="deletionTimestamp" in meta,
            spec=spec,
            status=read_status(raw),
        )

    def replicas(self) -> Iterator[ReplicaId]:
        """Yields every replica of the job, the one that leads first."""
        for role, spec in self.spec.replica_specs:
            for index in range(spec.replicas or 1):
                yield ReplicaId(role, index)

    @property
    def leader(self) -> ReplicaId:
        """The replica that stores the weights: the chief, or worker 0 when there is none."""
        return next(self.replicas())

    @property
    def size(self) -> int:
        """How many replicas the job has."""
        return sum(1 for _ in self.replicas())

    @property
    def profiler_port(self) -> int:
        """Port of the profiler server."""
        profiler = self.spec.profiler
        return (profiler and profiler.port) or _DEFAULT_PROFILER_PORT

    @property
    def policy(self) -> RunPolicy:
        """What spec.runPolicy says; nothing, when it is left out."""
        return self.spec.run_policy or RunPolicy()

    @property
    def backoff_limit(self) -> int:
        """How many restarts may count before the job fails."""
        limit = self.policy.backoff_limit
        return _DEFAULT_BACKOFF_LIMIT if limit is None else limit

    @property
    def gang(self) -> bool:
        """Whether a scheduler is to place all training replicas or none."""
        policy = self.policy.scheduling_policy
        return policy is not None and bool(policy.gang)

    @property
    def named_weights(self) -> str | None:
        """The whole address of the weights that the spec names; None when it names none."""
        artifacts = self.spec.artifacts
        if artifacts.weights is None or "://" in artifacts.weights:
            return artifacts.weights
        return f"{artifacts.uri.rstrip('/')}/{artifacts.weights}"

    @property
    def managed_elsewhere(self) -> bool:
        """Whether another controller looks after this job."""
        return self.spec.managed_by not in {None, MANAGER}

    def stands_alone(self, role: Role) -> bool:
        """Tells whether peers go on without a replica of this role, so that it can be replaced alone."""
        worker = role == Role.WORKER and self.spec.strategy == Strategy.PARAMETER_SERVER
        return worker or role == Role.EVALUATOR

    @property
    def inference(self) -> Inference | None:
        """What to run after training, if anything."""
        return self.spec.inference

    def template(self, role: Role) -> Mapping[str, Any]:
        """Returns the pod template of a role: its own, or the job's."""
        own = next(spec.template for known, spec in self.spec.replica_specs if known == role)
        return self.spec.template if own is None else own

    @property
    def inference_template(self) -> Mapping[str, Any]:
        """The pod template of inference: its own, or the leading replica's."""
        own = self.inference and self.inference.template
        return own or self.template(self.leader.role)


def is_managed_elsewhere(raw: Mapping[str, Any]) -> bool:
    """Tells whether another controller looks after the object, even one whose spec cannot be read."""
    return (raw.get("spec") or {}).get("managedBy") not in {None, MANAGER}


def read_status(raw: Mapping[str, Any]) -> Status:
    """Reads the status that an operator of another version may have written.

    A field or a value of a later version is passed over: to forget the whole status for it would train the job again.
    """
    status = raw.get("status") or {}
    while True:
        try:
            return Status.read(status, extra="ignore")
        except ValidationError as error:
            status = _without(status, error.errors(include_url=False)[0]["loc"]) or {}


def main_container(containers: Sequence[C]) -> C:
    """Returns the container that runs the training program."""
    return next((container for container in containers if container.get("name") == _MAIN_CONTAINER), containers[0])


def _without(value: Any, path: Sequence[int | str]) -> Any:  # noqa: ANN401  JSON
    """Returns `value` without what lies at `path`; None when that is all of it, or when it lacks what it needs."""
    if not path:
        return None
    head, rest = path[0], path[1:]
    if isinstance(value, Mapping) and head in value:
        less = _without(value[head], rest)
        return {key: less if key == head else item for key, item in value.items() if key != head or less is not None}
    if isinstance(value, Sequence) and isinstance(head, int) and not isinstance(value, str):
        less = _without(value[head], rest)
        return [*value[:head], *(() if less is None else (less,)), *value[head + 1 :]]
    return None


def faults(error: ValidationError) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yields what is wrong with a spec: the path of the field, and a sentence about it."""
    for each in error.errors(include_url=False):
        what = _WORDS.get(each["type"], each["msg"])
        yield each["loc"], f"{what[0].lower()}{what[1:]}"


def dotted(path: Iterable[int | str]) -> str:
    """Writes the path of a field as people do: spec.containers[0].image."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _sentence(error: ValidationError) -> str:
    path, what = next(faults(error))
    return f"{dotted(('spec', *path))}: {what}"
