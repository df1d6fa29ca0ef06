"""A QuantumTrainingJob as the rest of the operator uses it: its models, and the meaning of missing fields."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

from pydantic.alias_generators import to_camel

from qtj_operator.api.artifacts import ReusePolicy
from qtj_operator.api.conditions import ConditionType, is_over, is_true
from qtj_operator.api.copied_labels import NO_LABELS, CopiedLabels
from qtj_operator.api.defaults import GRPC_PORT, METRICS_PORT, PROFILER_PORT
from qtj_operator.api.digest import spec_digest, training_id
from qtj_operator.api.indexes import parse_indexes
from qtj_operator.api.limits import BEYOND
from qtj_operator.api.names import LABEL_QUEUE, MANAGER, Role, controllers_of
from qtj_operator.api.platform_policy import (
    NO_POLICY,
    PlatformPolicy,
    effective_run_policy,
    effective_tensorboard,
    source_of,
)
from qtj_operator.api.program import with_program
from qtj_operator.api.reading import InvalidJob, read_leniently, read_spec, read_status
from qtj_operator.api.run_policy import BackoffScope, RunPolicy
from qtj_operator.api.sizes import changes, sizes_of, with_sizes, without_sizes
from qtj_operator.api.spec import Inference, ReplicaService, Spec, Strategy
from qtj_operator.api.status import ElasticStatus, ReplicaStatus, Status
from qtj_operator.api.study import STUDY_KIND
from qtj_operator.api.template import PodTemplate, main_name, read_template, runs_trainer
from qtj_operator.api.tensorboard import TensorBoard

__all__ = [
    "GRPC_PORT",
    "METRICS_PORT",
    "Job",
    "ReplicaId",
    "is_managed_elsewhere",
    "is_trainer",
    "main_container",
]

C = TypeVar("C", bound=Mapping[str, Any])

_DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True, order=True)
class ReplicaId:
    """One replica: its role and its number within the role."""

    role: Role
    index: int


EVALUATOR = ReplicaId(Role.EVALUATOR, 0)
"""A job has one at most."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One QuantumTrainingJob.

    Attributes:
        name: metadata.name.
        namespace: metadata.namespace.
        uid: metadata.uid.
        version: metadata.resourceVersion.
        generation: metadata.generation, which changes with the spec.
        deleting: Whether the object is being deleted.
        asked: What the user wants now. The next attempt gets its numbers of replicas.
        digest: Digest of the fields that cannot be changed once the job has started, and of the numbers of replicas.
        fixed_digest: Digest of these fields without the numbers of replicas, which can be changed.
        ignored: Paths in the spec that have no effect, because this operator does not know them.
        queue_label: Whether it has Kueue's label with a queue, which is for the objects that Kueue itself manages.
        copied_labels: Labels of its metadata that everything made for it gets too.
        is_trial: Whether a study owns it, which also sees to its time to live.
        status: What the operator wrote last.
        offered: What the platform gives to jobs that start now.
    """

    name: str
    namespace: str
    uid: str
    version: str
    generation: int
    deleting: bool
    asked: Spec
    digest: str
    fixed_digest: str
    ignored: tuple[str, ...]
    queue_label: bool
    copied_labels: Mapping[str, str]
    is_trial: bool
    status: Status
    offered: PlatformPolicy = NO_POLICY

    @classmethod
    def parse(cls, raw: Mapping[str, Any], copied: CopiedLabels = NO_LABELS) -> Self:
        """Reads an object as the API server returns it.

        A field that this operator does not know is ignored: a CRD of a later version allows it. Once the job has
        started, an unknown value is ignored as well, because nothing else would manage the job's pods.

        Raises:
            InvalidJob: The spec breaks a rule of the schema, which an object stored before that rule existed may do, or
                the job is too large.
        """
        if BEYOND in raw:
            raise InvalidJob(raw[BEYOND], ())
        meta, written, status = raw["metadata"], raw.get("spec", {}), read_status(raw)
        spec, ignored = read_leniently(written) if status.attempt else read_spec(written)
        labels = meta.get("labels") or {}
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            uid=meta["uid"],
            version=meta["resourceVersion"],
            generation=meta.get("generation", 1),
            deleting="deletionTimestamp" in meta,
            asked=spec,
            digest=spec_digest(written),
            fixed_digest=spec_digest(without_sizes(written)),
            ignored=ignored,
            queue_label=LABEL_QUEUE in labels,
            copied_labels=copied.of(labels),
            is_trial=any(owner.get("kind") == STUDY_KIND for owner in controllers_of(meta)),
            status=status,
        )

    @cached_property
    def spec(self) -> Spec:
        """The spec with the numbers of replicas of the current attempt, whatever the user asks for since."""
        return with_sizes(self.asked, self.status.sizes if self.status.attempt else {})

    @cached_property
    def wanted(self) -> Spec:
        """What the user asks for, with the number of workers of an elastic job: the next attempt has these numbers."""
        return with_sizes(self.asked, {Role.WORKER: self.decided.workers}) if self.decided else self.asked

    @property
    def decided(self) -> ElasticStatus | None:
        """The number of workers that was decided for an elastic job; None once the user asks for another one."""
        elastic, decided, replicas = self.asked.elastic, self.status.elastic, self.workers_asked
        if elastic is None or decided is None or decided.replicas != replicas:
            return None
        return decided if elastic.allows(decided.workers, replicas) else None

    @property
    def workers_asked(self) -> int:
        """How many workers the user asks for."""
        return sizes_of(self.asked).get(Role.WORKER, 0)

    @property
    def resizes(self) -> Mapping[Role, tuple[int, int]]:
        """By role, the numbers of replicas of the current attempt and of the next one, if they differ."""
        return changes(sizes_of(self.spec), sizes_of(self.wanted))

    def as_asked(self) -> Self:
        """Returns the job as if nothing had run yet: with the numbers of replicas that the next attempt has."""
        return replace(self, asked=self.wanted, status=self.status.changed(replicas={}))

    def replicas(self) -> Iterator[ReplicaId]:
        """Yields every replica of the job, the leader first."""
        yield from self._replicas

    @cached_property
    def _replicas(self) -> tuple[ReplicaId, ...]:
        """Computed once: they are needed often, and there may be a thousand."""
        return tuple(ReplicaId(role, index) for role, spec in self.spec.replica_specs for index in range(spec.count))

    @property
    def leader(self) -> ReplicaId:
        """The replica that stores the weights: the chief, or worker 0 when there is none."""
        return next(self.replicas())

    @property
    def size(self) -> int:
        """How many replicas the job has."""
        return len(self._replicas)

    @property
    def training_size(self) -> int:
        """How many replicas train: all but the evaluator."""
        return sum(replica.role != Role.EVALUATOR for replica in self._replicas)

    @property
    def shares_service(self) -> bool:
        """Whether all replicas have one Service."""
        return self.spec.replica_service == ReplicaService.SHARED

    @property
    def profiler_port(self) -> int:
        """Port of the profiler server."""
        profiler = self.spec.profiler
        return (profiler and profiler.port) or PROFILER_PORT

    @property
    def platform_policy(self) -> PlatformPolicy:
        """What the platform gives to this job: once it has started or ended, what it gave then."""
        begun = self.status.attempt or self.is_over
        return (self.status.platform_policy or NO_POLICY) if begun else self.offered

    @cached_property
    def policy(self) -> RunPolicy:
        """`spec.runPolicy` with the defaults and below the ceilings of the platform; empty if there is nothing."""
        return effective_run_policy(self.spec.run_policy or RunPolicy(), self.platform_policy)

    @property
    def tensorboard(self) -> TensorBoard | None:
        """`spec.tensorboard` with the default and below the ceiling of the platform; None if the job has none."""
        return effective_tensorboard(self.spec.tensorboard, self.platform_policy)

    def named(self, field: str) -> str:
        """Returns the name of a number of `spec.runPolicy` for people, and whether it is from the platform.

        Args:
            field: Its Python name.
        """
        source = source_of(field, self.spec.run_policy or RunPolicy(), self.platform_policy)
        return f"the {source} of this platform for {to_camel(field)}" if source else to_camel(field)

    @property
    def backoff_limit(self) -> int:
        """How many restarts may count before the job fails."""
        return self.policy.restarts

    @property
    def gang(self) -> bool:
        """Whether a scheduler has to place all training replicas or none."""
        policy = self.policy.scheduling_policy
        return policy is not None and bool(policy.gang)

    @property
    def names_scheduler(self) -> bool:
        """Whether the leader's pod is for another scheduler than that of Kubernetes."""
        named = self.template(self.leader.role).spec.scheduler_name
        return bool(named and named != _DEFAULT_SCHEDULER)

    @property
    def counts_per_checkpoint(self) -> bool:
        """Whether restarts are counted from 0 after each checkpoint that advanced."""
        return self.policy.backoff_limit_per == BackoffScope.CHECKPOINT

    @property
    def named_weights(self) -> str | None:
        """The full address of the weights that the spec names, below its artifacts; None if it names none."""
        return self.weights_below(self.spec.artifacts.uri)

    def weights_below(self, folder: str) -> str | None:
        """Returns the full address of the weights that the spec names; None if it names none.

        Args:
            folder: The address of the artifacts. Weights below those of the spec have the same path below it.
        """
        uri, weights = self.spec.artifacts.uri, self.spec.artifacts.weights
        if weights is None:
            return None
        below = weights.removeprefix(f"{uri.rstrip('/')}/")
        return below if "://" in below else f"{folder.rstrip('/')}/{below}"

    @property
    def queued(self) -> bool:
        """Whether Kueue admits the pods of an attempt, all together."""
        policy = self.policy.scheduling_policy
        return policy is not None and policy.queue_name is not None

    @property
    def edited(self) -> bool:
        """Whether a field was changed that can no longer be changed, in a way that the API server did not reject."""
        if self.status.fixed_digest is None:  # written by an operator that did not change numbers of replicas
            return self.status.spec_digest not in {None, self.digest}
        return self.status.fixed_digest != self.fixed_digest

    @property
    def training_id(self) -> str:
        """What checkpoints and the result belong to: only this object, or every job with its name and spec."""
        if self.spec.artifacts.reuse_policy != ReusePolicy.SAME_SPEC:
            return self.uid
        return training_id(self.namespace, self.name, self.status.spec_digest or self.digest)

    @property
    def is_running(self) -> bool:
        """Whether all replicas that training waits for were ready when the status was written."""
        return is_true(self.status.conditions, ConditionType.RUNNING)

    @property
    def is_trained(self) -> bool:
        """Whether training has succeeded."""
        return is_true(self.status.conditions, ConditionType.TRAINED)

    @property
    def is_suspended(self) -> bool:
        """Whether the job was suspended when the status was written; the spec may have changed since."""
        return is_true(self.status.conditions, ConditionType.SUSPENDED)

    @property
    def has_failed(self) -> bool:
        """Whether the job has failed."""
        return is_true(self.status.conditions, ConditionType.FAILED)

    @property
    def is_over(self) -> bool:
        """Whether the job is complete or has failed."""
        return is_over(self.status.conditions)

    @cached_property
    def finished(self) -> frozenset[ReplicaId]:
        """Replicas of the current attempt whose success is recorded: their pods may be deleted for good."""
        return self._recorded(lambda counts: counts.succeeded_indexes)

    @cached_property
    def absent(self) -> frozenset[ReplicaId]:
        """Replicas that had not started when the leader ended with exit code 0, by the record."""
        return self._recorded(lambda counts: counts.absent_indexes)

    def _recorded(self, indexes: Callable[[ReplicaStatus], str | None]) -> frozenset[ReplicaId]:
        recorded = self.status.replicas
        return frozenset(
            ReplicaId(role, index)
            for role, spec in self.spec.replica_specs
            if role in recorded
            for index in parse_indexes(indexes(recorded[role]), spec.count)
        )

    @property
    def leader_finished(self) -> bool:
        """Whether the leader's success is recorded: from then on, only replicas that have not finished run again."""
        return self.leader in self.finished

    @property
    def trains_together(self) -> bool:
        """Whether the strategy needs all replicas at the same time; else some may train without the others."""
        return self.spec.strategy not in {Strategy.PARAMETER_SERVER, Strategy.NONE}

    @property
    def managed_elsewhere(self) -> bool:
        """Whether another controller manages this job."""
        return self.spec.managed_by not in {None, MANAGER}

    def stands_alone(self, role: Role) -> bool:
        """Tells whether peers continue without a replica of this role, so that it can be replaced alone.

        Kueue keeps the failed pod of a group until another replaces it, but the replacement needs its name.
        """
        worker = role == Role.WORKER and self.spec.strategy == Strategy.PARAMETER_SERVER and not self.queued
        return worker or role == Role.EVALUATOR

    @property
    def inference(self) -> Inference | None:
        """What to run after training, if anything."""
        return self.spec.inference

    def template(self, role: Role) -> PodTemplate:
        """Returns the pod template of a role: its own, or the job's, with the program of the job."""
        return self._templates[role]

    @cached_property
    def _templates(self) -> Mapping[Role, PodTemplate]:
        """Computed once: one of a thousand replicas needs it each time."""
        return {role: self._with_program(spec.template or self.spec.template) for role, spec in self.spec.replica_specs}

    def _with_program(self, template: PodTemplate) -> PodTemplate:
        program = self.spec.program
        return template if program is None else read_template(with_program(template.written, program))

    @property
    def inference_template(self) -> PodTemplate:
        """The pod template of inference: its own, or the leading replica's, with the program of the job.

        Raises:
            ValidationError: Its own cannot be read.
        """
        own = self.inference and self.inference.template
        return self._with_program(read_template(own)) if own else self.template(self.leader.role)


def is_managed_elsewhere(raw: Mapping[str, Any]) -> bool:
    """Tells whether another controller manages the object, even if its spec cannot be read."""
    return (raw.get("spec") or {}).get("managedBy") not in {None, MANAGER}


def main_container(containers: Sequence[C]) -> C:
    """Returns the container that runs the training program."""
    names = [container.get("name", "") for container in containers]
    return containers[names.index(main_name(names))]


def is_trainer(container: Mapping[str, Any]) -> bool:
    """Tells whether a container runs this project's trainer."""
    return runs_trainer(container.get("image"), container.get("command"))
