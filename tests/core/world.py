"""Worlds to decide about: `running_job(workers=2).with_pod("worker-1", exit_code=137)`.

A world is what a pass observes, so it can be passed to `decide`. Replicas are named by role and number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from qtj_contract import Progress, TerminationMessage, Weights
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import replica_name
from qtj_operator.api.spec import Inference, Spec
from qtj_operator.controller.parse import parse_service
from qtj_operator.core.decide import decide
from qtj_operator.core.decision import Decision, Delete
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Ending, Pod, Waiting
from qtj_operator.manifests.inference import inference_run
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.service import replica_service, replicas_of_services
from tests.jobs import a_job

__all__ = [
    "NOW",
    "WEIGHTS",
    "World",
    "complete_job",
    "deleted_by",
    "inferring_job",
    "later",
    "new_job",
    "parameter_servers",
    "pods_of",
    "running_job",
    "starting_job",
    "stored",
    "trained_job",
]

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
WEIGHTS = Weights(uri="gs://lab-bucket/qcnn/weights/1f3c0a.h5", sha256="1f3c0a" + "0" * 58)


def later(**delta: float) -> datetime:
    """A moment after NOW: `later(seconds=30)`."""
    return NOW + timedelta(**delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class World(Observed):
    """A job and its children; every method returns another world."""

    def decide(self, now: datetime = NOW) -> Decision:
        return decide(self, now)

    def recorded(self, now: datetime = NOW) -> Self:
        """The same children, once the status that follows from them is written."""
        return self.with_status(**dict(self.decide(now).status))

    def with_status(self, **fields: Any) -> Self:
        return replace(self, job=replace(self.job, status=self.job.status.model_copy(update=fields)))

    def with_spec(self, **fields: Any) -> Self:
        """The user has edited the spec."""
        spec = Spec.model_validate({**self.job.asked.model_dump(by_alias=True, exclude_none=True), **fields})
        return replace(self, job=replace(self.job, asked=spec, generation=self.job.generation + 1))

    def with_progress(self, **fields: Any) -> Self:
        return replace(self, progress=Progress(**{"epoch": 1, "epochs": 25, "step": 40, **fields}))

    def with_evaluation(self, **fields: Any) -> Self:
        """The last answer of the evaluator's endpoint."""
        return replace(self, evaluation=Progress(**{"epoch": 1, "step": 7, **fields}))

    def with_pod(self, replica: str, **how: Any) -> Self:
        """The replica's pod as `_pod` describes it, in place of the one it had."""
        pod = _pod(self.job, replica, **{"attempt": self.attempt, **how})
        return replace(self, pods=(*self.without_pod(replica).pods, pod))

    def with_pods(self, **how: Any) -> Self:
        world = self
        for replica in self.job.replicas():
            world = world.with_pod(f"{replica.role.task_type}-{replica.index}", **how)
        return world

    def without_pod(self, replica: str) -> Self:
        return replace(self, pods=tuple(pod for pod in self.pods if pod.name != f"{self.job.name}-{replica}"))

    def without_pods(self) -> Self:
        return replace(self, pods=())

    def with_service(self, replica: str, **spec: Any) -> Self:
        """Somebody edited the replica's Service."""
        (replica_id,) = (each for each in self.job.replicas() if _called(each) == replica)
        return self._with_edited(replica_service(self.job, replica_id), spec)

    def with_shared_service(self, **spec: Any) -> Self:
        """Somebody edited the Service of all replicas."""
        return self._with_edited(replica_service(self.job, None), spec)

    def _with_edited(self, service: Manifest, spec: Mapping[str, Any]) -> Self:
        built = stored(service)
        edited = parse_service({**built, "spec": {**built["spec"], **spec}})
        return replace(self, services={**self.services, edited.name: edited})

    def without_services(self) -> Self:
        return replace(self, services={})

    def without_service(self, replica: str) -> Self:
        name = f"{self.job.name}-{replica}"
        return replace(self, services={known: s for known, s in self.services.items() if known != name})

    def with_services(self) -> Self:
        """The replicas' Services as the API server has them."""
        replicas = replicas_of_services(self.job).values()
        services = [parse_service(stored(replica_service(self.job, replica))) for replica in replicas]
        return replace(self, services={service.name: service for service in services})

    def with_inference(self, **how: Any) -> Self:
        """The inference Job that the spec asks for, in the state that `how` says: `complete=True, says=...`."""
        return replace(self, inference=_inference(self.job, **how))

    def without_inference(self) -> Self:
        return replace(self, inference=None)


def new_job(**job: Any) -> World:
    """A job that the operator has not seen yet."""
    return World(job=a_job(**job), services={})


def parameter_servers(*, workers: int = 2, **job: Any) -> dict[str, Any]:
    """The shape of a parameter-server job, for any of the builders: `running_job(**parameter_servers())`."""
    return {"strategy": "ParameterServer", "chief": True, "ps": 1, "workers": workers, **job}


def training_job(*, backoff_limit: int | None = None, **shape: Any) -> World:
    """A chief, a parameter server and two workers, all running."""
    return running_job(backoff_limit=backoff_limit, **parameter_servers(**shape))


def starting_job(*, attempt: int = 1, **job: Any) -> World:
    """A job whose pods exist and wait for their nodes."""
    begun = new_job(**job).recorded().with_status(attempt=attempt, restarts=attempt - 1)
    return begun.with_services().with_pods().recorded()


def running_job(
    *, attempt: int = 1, restarts: int | None = None, backoff_limit: int | None = None, **job: Any
) -> World:
    """A job whose replicas all run and are ready; earlier attempts ended by themselves unless `restarts` says so."""
    if backoff_limit is not None:
        job["runPolicy"] = {**job.get("runPolicy", {}), "backoffLimit": backoff_limit}
    world = new_job(**job).with_status(
        attempt=attempt,
        restarts=attempt - 1 if restarts is None else restarts,
        consecutive_failures=(attempt - 1 if restarts is None else restarts) or None,
        start_time=NOW,
        attempt_start_time=NOW,
    )
    return world.with_services().with_pods(ready=True).recorded()


def trained_job(*, weights: Weights | None = WEIGHTS, **job: Any) -> World:
    """A job whose replicas have all ended well, which is on record."""
    world = running_job(**job)
    leader = world.job.leader
    says = TerminationMessage(weights=weights)
    return world.with_pods(exit_code=0).with_pod(_called(leader), exit_code=0, says=says).recorded()


def inferring_job(**job: Any) -> World:
    """A trained job whose inference Job runs."""
    return trained_job(**{"inference": {}, **job}).with_inference().recorded()


def complete_job(**job: Any) -> World:
    """A job that is done, inference included."""
    world = inferring_job(**job)
    return world.with_inference(complete=True, says=TerminationMessage(metrics={"mse": 0.2})).recorded()


def deleted_by(decision: Decision) -> list[str]:
    """The names of what a pass deletes; it does nothing else."""
    deletes = [action for action in decision.actions if isinstance(action, Delete)]
    assert len(deletes) == len(decision.actions), decision.actions
    return [delete.name for delete in deletes]


def pods_of(names: Mapping[str, Any]) -> tuple[Pod, ...]:
    """Pods of a two-worker job by replica: `pods_of({"worker-0": {"ready": True}})`."""
    job = a_job(workers=2)
    return tuple(_pod(job, replica, **how) for replica, how in names.items())


def stored(service: Manifest) -> Manifest:
    """The Service once the API server has it: with a resourceVersion."""
    meta = service["metadata"]
    return {**service, "metadata": {**meta, "resourceVersion": f"{meta['name']}-version"}}


def _called(replica: ReplicaId) -> str:
    return f"{replica.role.task_type}-{replica.index}"


def _pod(
    job: Job,
    replica: str,
    *,
    attempt: int = 1,
    exit_code: int | None = None,
    reason: str | None = None,
    says: TerminationMessage | str = "",
    waiting: tuple[str, str] | None = None,
    deleting: bool = False,
    sidecar: bool = False,
    **fields: Any,
) -> Pod:
    """A pod: Pending, or Running when ready, or ended when it has an exit code or a reason for its end.

    With a `sidecar` it runs on when its program has ended. One that is being deleted has 30 seconds from NOW, unless
    its `deadline` is given.
    """
    known = {_called(known): known for known in job.replicas()}[replica]
    name = replica_name(job.name, known.role, known.index)
    ended = exit_code is not None or reason is not None
    text = says.to_json() if isinstance(says, TerminationMessage) else says
    cause = reason or ("Completed" if exit_code == 0 else "Error")
    gone = ended and not sidecar
    running = sidecar or fields.get("ready")
    phase = ("Succeeded" if exit_code == 0 else "Failed") if gone else "Running" if running else "Pending"
    return Pod(
        **{
            "name": name,
            "uid": f"{name}@{attempt}",
            "version": f"{name}@{attempt}",
            "replica": known,
            "attempt": attempt,
            "phase": phase,
            "running": fields.get("phase", phase) == "Running" and not (ended or fields.get("ending")),
            "ready": False,
            "missed": False,
            "deadline": later(seconds=30) if deleting else None,
            "node": None,
            "address": None,
            "ending": Ending(exit_code=exit_code, reason=cause, text=text) if ended else None,
            "waiting": Waiting(image="registry.example/trainer:1", reason=waiting[0], message=waiting[1])
            if waiting
            else None,
            "gates": (),
            "unscheduled": None,
            "disrupted": False,
            "accompanied": sidecar,
            **fields,
        }
    )


def _inference(
    job: Job,
    *,
    complete: bool = False,
    failed: bool = False,
    overdue: bool = False,
    deleting: bool = False,
    suspended: bool = False,
    says: TerminationMessage | str = "",
    **pod: Any,
) -> InferenceRun:
    inference, weights = job.inference or Inference(), job.status.weights
    pod = {"exit_code": 0 if complete else 1 if failed else None, **pod}
    ran = replace(
        _pod(job, _called(job.leader), says=says, **pod),
        name=f"{job.name}-inference-x7k2p",
        replica=None,
    )
    return InferenceRun(
        name=f"{job.name}-inference",
        uid="inference-uid",
        version="inference-version",
        run=inference_run(inference, weights),
        created=NOW,
        suspended=suspended,
        complete=complete,
        failed=failed or overdue,
        overdue=overdue,
        deleting=deleting,
        pods=(ran,),
    )
