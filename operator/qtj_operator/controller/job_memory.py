"""What the operator remembers of each job beside the cluster.

It is of little use after a restart, so nothing of it is stored. A job that is gone is forgotten with one `del`.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from qtj_operator.api.conditions import ConditionType, Reason
from qtj_operator.api.status import Phase
from qtj_operator.controller.client import Key, Object, denied_by
from qtj_operator.controller.failing_passes import Failures
from qtj_operator.controller.killed import Killed
from qtj_operator.controller.last_events import LastEvents
from qtj_operator.controller.pace import Pace
from qtj_operator.controller.parse import parse_pod, parse_service
from qtj_operator.controller.refusals import Refusals
from qtj_operator.controller.repairs import Repairs
from qtj_operator.controller.restored import Awaited
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Pod
from qtj_operator.core.service import Service

__all__ = ["Actions", "JobMemory", "Jobs", "Parser"]

T = TypeVar("T")
_INFERENCE = "Inference"
"""The role of pods that are no replicas."""


class Parser(Generic[T]):
    """Parses only what it does not know from the last pass: of a thousand children, few have changed by then.

    An object in the cache is replaced when it changes, and never edited: the same object gives the same result.
    """

    def __init__(self, parse: Callable[..., T]) -> None:
        self._parse = parse
        self._known: dict[str, tuple[Object, Hashable, T]] = {}
        self._used: dict[str, tuple[Object, Hashable, T]] = {}

    def begin(self) -> None:
        """Begins a pass, and drops what the last one has not used."""
        self._known, self._used = self._used, {}

    def __call__(self, raw: Object, *more: Hashable) -> T:
        """Returns what the object is parsed into."""
        name = raw["metadata"]["name"]
        known = self._known.get(name)
        if known is None or known[0] is not raw or known[1] != more:
            known = raw, more, self._parse(raw, *more)
        self._used[name] = known
        return known[2]


@dataclass(slots=True)
class Actions:
    """What became of actions.

    Attributes:
        refusals: What the API server has refused.
        repairs: When what others edit was brought back.
    """

    refusals: Refusals = field(default_factory=Refusals)
    repairs: Repairs = field(default_factory=Repairs)


@dataclass(slots=True)
class JobMemory:
    """What is remembered of one job.

    Attributes:
        phase: The phase that it had in the last pass.
        reason: The reason that it had with it.
        since: Since when its replicas have not all been running; None where they are.
        stragglers: How many of its replicas are slow now.
        failed_at: When it failed; None if it has not.
        cause: Why a replica failed last, for example OOMKilled.
        denied_by: Who refuses its children, for example `quota compute`.
        lost: When its last replicas failed, oldest first.
        on_nodes: How many of its pods have a node and have not ended, by role.
        pods: What its pods were parsed into.
        services: What its Services were parsed into.
        failures: The passes that have failed in a row.
        events: What the events about its pods have said.
        killed: Which of its programs the kubelet has killed, by events.
        pace: When its numbers were written.
        actions: What became of actions on its children.
        tensorboard: What became of actions on its TensorBoard.
        unreadable: Why it cannot be read; empty if it can.
        looked: When the last pass over it was done.
        awaited: Until when the status of a restored job may come.
    """

    phase: str = Phase.PENDING
    reason: str = ""
    since: datetime | None = None
    stragglers: int = 0
    failed_at: datetime | None = None
    cause: str = ""
    denied_by: str = ""
    lost: Sequence[datetime] = ()
    on_nodes: Mapping[str, int] = field(default_factory=dict)
    pods: Parser[Pod] = field(default_factory=lambda: Parser(parse_pod))
    services: Parser[Service] = field(default_factory=lambda: Parser(parse_service))
    failures: Failures = field(default_factory=Failures)
    events: LastEvents = field(default_factory=LastEvents)
    killed: Killed = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)
    actions: Actions = field(default_factory=Actions)
    tensorboard: Actions = field(default_factory=Actions)
    unreadable: str = ""
    looked: datetime | None = None
    awaited: Awaited = field(default_factory=Awaited)

    def shows(self, job: Object) -> None:
        """Remembers what the job's status says."""
        status = job.get("status", {})
        self.phase, self.reason = status.get("phase") or Phase.PENDING, status.get("reason") or ""
        self.since = _not_running_since(job)
        stragglers = (status.get("steps") or {}).get("stragglers") or ()
        self.stragglers = sum("until" not in each for each in stragglers) if self.phase == Phase.RUNNING else 0
        failed = _condition(job, ConditionType.FAILED)
        self.failed_at = _changed(failed) if failed and failed["status"] == "True" else None
        failures = status.get("failures") or ()
        self.lost = tuple(datetime.fromisoformat(each["time"]) for each in failures)
        self.cause = failures[-1]["reason"] if failures else ""
        self.denied_by = _denied_by(job) if self.reason == Reason.CHILD_REJECTED else ""

    def saw(self, seen: Observed) -> None:
        """Remembers which of its pods have a node; a probe has one for a moment, and is no replica."""
        pods = (*seen.pods, *(seen.inference.pods if seen.inference else ()))
        on_nodes = (pod for pod in pods if pod.node is not None and not (pod.stopped or pod.probe))
        self.on_nodes = Counter(pod.replica.role if pod.replica else _INFERENCE for pod in on_nodes)


def _not_running_since(job: Object) -> datetime | None:
    """Returns since when not all replicas of a job run: its creation, or when one of them ended."""
    running = _condition(job, ConditionType.RUNNING)
    if running is None:
        return datetime.fromisoformat(job["metadata"]["creationTimestamp"])
    return None if running["status"] == "True" else _changed(running)


def _condition(job: Object, kind: ConditionType) -> Object | None:
    conditions = job.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), None)


def _denied_by(job: Object) -> str:
    messages = (each["message"] for each in job["status"]["conditions"] if each["reason"] == Reason.CHILD_REJECTED)
    return denied_by(next(messages, ""))


def _changed(condition: Object) -> datetime:
    return datetime.fromisoformat(condition["lastTransitionTime"])


class Jobs(dict[Key, JobMemory]):
    """Every job that a pass has found; after a restart the first resync fills it again."""

    def __missing__(self, key: Key) -> JobMemory:
        """Begins to remember a job."""
        return self.setdefault(key, JobMemory())

    def unreadable(self) -> int:
        """Returns how many jobs cannot be read."""
        return sum(bool(job.unreadable) for job in self.values())

    def starting(self) -> int:
        """Returns how many jobs wait for their replicas to be ready, and for nothing else."""
        return sum(job.pace.is_starting for job in self.values())
