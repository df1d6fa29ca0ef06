"""A job with its replicas as it is at one moment, wherever it runs: what every view of it shows.

runs on this machine ──▶ LocalSource ────┐
                                         ├──▶ Snapshot ──▶ text, tables, documents
jobs of a cluster ─────▶ ClusterSource ──┘
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from qtj.runs.summary import age_of, age_text
from qtj_operator.api.indexes import parse_indexes
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import LABEL_INFERENCE, LABEL_ROLE, inference_name, replica_name
from qtj_operator.api.reading import InvalidJob, read_leniently, read_status
from qtj_operator.api.sizes import with_sizes
from qtj_operator.api.spec import Spec
from qtj_operator.api.status import Status
from qtj_operator.controller.client import Object
from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.pod import Pod

__all__ = [
    "Replica",
    "Snapshot",
    "Source",
    "is_unstarted",
    "main_container_name",
    "replica_names",
    "replicas_of",
    "spec_of",
]

UNKNOWN = "-"
"""The state of a replica without a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A replica, or the inference of a job.

    Attributes:
        name: Its name within the job, for example worker-0.
        state: Pending, Running, NotReady, Succeeded, Failed, Terminating, the reason why it cannot start, or "-" where
            it has no pod.
        node: Where it runs or ran; None if it has had no node, or that is not known any more.
        exit_code: How its program ended; None before that, or if that is not known.
        restarts: How often it was started again.
        own_seconds: How long it takes for its part of a step; None if the status does not have it.
    """

    name: str
    state: str
    node: str | None = None
    exit_code: int | None = None
    restarts: int = 0
    own_seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns it for programs."""
        known = {"node": self.node, "exitCode": self.exit_code, "ownSeconds": self.own_seconds}
        found = {name: value for name, value in known.items() if value is not None}
        return {"name": self.name, "state": self.state, **found, "restarts": self.restarts}


def replicas_of(job: Object, pods: Sequence[Object]) -> Sequence[Replica]:
    """Returns all replicas that a job has now, in the order of its spec, and then its inference if that has a pod.

    Args:
        job: The job.
        pods: Its pods.
    """
    status, spec = read_status(job), spec_of(job)
    found = {raw["metadata"]["name"]: parse_pod(raw, main_container_name(spec, raw)) for raw in pods}
    name = job["metadata"]["name"]
    sized = spec and with_sizes(spec, status.sizes)
    replicas = [_with_step(_replica(name, each, found, status), status) for each in _declared(sized)]
    inference = [found[raw["metadata"]["name"]] for raw in pods if _infers(raw)]
    return [*replicas, *_inference(name, inference)]


def is_unstarted(pod: Pod) -> bool:
    """Tells whether the program of a pod has not started yet, and so has no log."""
    return pod.phase == "Pending" and not pod.started and pod.ending is None


def replica_names(job: Object) -> frozenset[str]:
    """Returns the names of the pods and Services of all replicas of a job."""
    name = job["metadata"]["name"]
    return frozenset(replica_name(name, each.role, each.index) for each in _declared(spec_of(job)))


def spec_of(job: Object) -> Spec | None:
    """Returns as much of the spec of a job as can be read; None if it cannot be read at all."""
    try:
        return read_leniently(job.get("spec") or {})[0]
    except InvalidJob:
        return None


def main_container_name(spec: Spec | None, pod: Object) -> str | None:
    """Returns the container that runs the program of a pod, by its template: others may have put theirs first."""
    if spec is None or _infers(pod):
        return None
    role = _labels(pod).get(LABEL_ROLE)
    own = next((each for name, each in spec.replica_specs if name.task_type == role), None)
    if own is None:
        return None
    return (spec.template if own.template is None else own.template).spec.main.name


def _declared(spec: Spec | None) -> Iterator[ReplicaId]:
    for role, replicas in spec.replica_specs if spec else ():
        yield from (ReplicaId(role, index) for index in range(replicas.count))


def _replica(job: str, replica: ReplicaId, pods: Mapping[str, Pod], status: Status) -> Replica:
    name = replica_name(job, replica.role, replica.index)
    short, pod, attempt = name.removeprefix(f"{job}-"), pods.get(name), status.attempt or 1
    failures = [each for each in status.failures if each.pod == name and each.attempt == attempt]
    if pod is not None:
        alone = sum(each.uid != pod.uid for each in failures if each.attempt == pod.attempt)
        return _of_pod(short, pod, max(pod.attempt - 1, 0) + alone)
    if _has_succeeded(replica, status):
        return Replica(name=short, state="Succeeded", exit_code=0, restarts=attempt - 1)
    if failures:
        last = failures[-1]
        before = attempt - 1 + len(failures) - 1
        return Replica(name=short, state="Failed", node=last.node, exit_code=last.exit_code, restarts=before)
    return Replica(name=short, state=UNKNOWN, restarts=attempt - 1)


def _with_step(replica: Replica, status: Status) -> Replica:
    known = {each.replica: each.own_seconds for each in (status.steps.slowest if status.steps else ())}
    return replace(replica, own_seconds=known.get(replica.name))


def _has_succeeded(replica: ReplicaId, status: Status) -> bool:
    """Tells whether it is done; its pod may have been deleted since."""
    counts = status.replicas.get(replica.role)
    return counts is not None and replica.index in parse_indexes(counts.succeeded_indexes, counts.desired)


def _inference(job: str, pods: Sequence[Pod]) -> Iterator[Replica]:
    """Yields the last pod of inference, whose Job may have tried several."""
    if pods:
        name = inference_name(job).removeprefix(f"{job}-")
        yield _of_pod(name, max(pods, key=lambda pod: (pod.ending is None, pod.phase == "Succeeded")), len(pods) - 1)


def _of_pod(name: str, pod: Pod, restarts: int) -> Replica:
    code = pod.ending.exit_code if pod.ending else None
    return Replica(name=name, state=_state(pod), node=pod.node, exit_code=code, restarts=restarts)


def _state(pod: Pod) -> str:
    if pod.succeeded:
        return "Succeeded"
    if pod.deleting and pod.taken_away:
        return "Terminating"
    if pod.failed:
        return "Failed"
    if pod.running or (pod.phase == "Running" and not pod.waiting):
        return "Running" if pod.ready else "NotReady"
    if pod.gates or pod.unscheduled:
        return "SchedulingGated" if pod.gates else "Unschedulable"
    return pod.waiting.reason if pod.waiting else pod.phase


def _infers(pod: Object) -> bool:
    return LABEL_INFERENCE in _labels(pod)


def _labels(pod: Object) -> Mapping[str, str]:
    return pod["metadata"].get("labels") or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A job at one moment.

    Attributes:
        name: Its name on the command line.
        job: The object.
        now: The moment, by the clock of who wrote the job.
        phase: Its phase, or what this machine knows besides, such as Interrupted.
        why: Why it has that phase; empty where there is nothing to add.
        is_over: Whether nothing more happens to it.
        progress: Its progress, as the status has it or as it was recorded since.
        losses: The loss of each epoch that is known.
        left: The time left, empty where it is not known.
        activity: What its program does; "" while it trains, None where it has reported nothing.
        replicas: Its replicas.
        pods: Its pods, where they change.
        events: Its events, oldest first.
        places: Where it is and where its files are, by name.
        follows: The commands that can be used next.
    """

    name: str
    job: Object
    now: datetime
    phase: str
    why: str
    is_over: bool
    progress: Mapping[str, Any]
    losses: Sequence[float | None] = ()
    left: str = ""
    activity: str | None = None
    replicas: Sequence[Replica] = ()
    pods: Sequence[Object] = ()
    events: Sequence[Object] = ()
    places: Mapping[str, str]
    follows: str = ""

    @property
    def status(self) -> Mapping[str, Any]:
        """The status of the job; empty before it has one."""
        status: Mapping[str, Any] = self.job.get("status") or {}
        return status

    @property
    def age(self) -> str:
        """The time since it began, for people; a dash where that is not known."""
        age = age_of(self.job, self.now)
        return "-" if age is None else age_text(age)

    @property
    def replica_rows(self) -> Sequence[Replica]:
        """The replicas as a table shows them; none if nothing is known of any of them."""
        return self.replicas if any(each.state != UNKNOWN for each in self.replicas) else ()

    def to_dict(self) -> dict[str, Any]:
        """Returns it for programs."""
        found: dict[str, Any] = {"name": self.name, "namespace": self.job["metadata"].get("namespace")}
        found |= {
            "phase": str(self.phase),
            "reason": self.status.get("reason"),
            "message": self.why,
            "ready": self.status.get("ready"),
        }
        found |= {"attempt": self.status.get("attempt"), "restarts": self.status.get("restarts", 0)}
        known = {name: value for name, value in found.items() if value is not None}
        numbers = {"progress": dict(self.progress), "timeLeft": self.left.removesuffix(" left")}
        return {**known, **numbers, "replicas": [each.to_dict() for each in self.replicas]}


class Source(Protocol):
    """Where jobs are looked at."""

    async def look(self) -> Sequence[Snapshot]:
        """Returns the jobs as they are now.

        Raises:
            InputError: One of them is not there, or not any more.
            ApiError: The cluster does not answer.
        """
        ...
