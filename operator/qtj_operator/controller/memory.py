"""What the operator remembers of each job beside the cluster.

It is of little use after a restart, so nothing of it is stored. A job that is gone is forgotten with one `del`.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from qtj_contract.timestamps import rfc3339
from qtj_operator.api.conditions import ConditionType, Reason
from qtj_operator.api.job import Job
from qtj_operator.api.status import Phase, Status
from qtj_operator.controller.client import ApiError, Key, Object, denied_by
from qtj_operator.controller.last_events import Killed, LastEvents
from qtj_operator.controller.parse import parse_pod, parse_service
from qtj_operator.core.decision import Action, Restore
from qtj_operator.core.observed import Observed
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.pod import Pod
from qtj_operator.core.service import Service
from qtj_operator.core.status import differ_in_numbers_alone

__all__ = ["Actions", "JobMemory", "Jobs", "Parser"]

_RESTORED_LABEL = "velero.io/restore-name"
"""Velero gives this label to all that it restores."""

_RESTORED_PATIENCE = timedelta(seconds=60)


@dataclass(slots=True)
class _Awaited:
    """Until when the status of a job may come that a backup tool restores: by a second request after its creation.

    ::

        Velero   creates the job   ...   writes the status, for the version that it created
        here     |--- writes nothing to it ---|

    A write of ours in between would make the API server refuse the status, and what has finished would train again. The
    time counts from when this operator first sees the job, not from its creation: then clocks need not agree.
    """

    _uid: str = ""
    _since: datetime | None = None

    def until(self, job: Object, now: datetime) -> datetime | None:
        """Returns until when nothing is written to a job; None if nothing keeps it from starting."""
        if not _is_restored(job):
            return None
        if self._since is None or self._uid != job["metadata"]["uid"]:
            self._uid, self._since = job["metadata"]["uid"], now
        due = self._since + _RESTORED_PATIENCE
        return due if now < due else None


def _is_restored(job: Object) -> bool:
    return _RESTORED_LABEL in (job["metadata"].get("labels") or {}) and not (job.get("status") or {}).get("conditions")


_SHORTEST_REPAIR_PAUSE, _LONGEST_REPAIR_PAUSE = timedelta(seconds=5), timedelta(minutes=5)
_NEVER_REPAIRED = (0, _SHORTEST_REPAIR_PAUSE, datetime.min.replace(tzinfo=UTC))
"""Of no generation: they start with 1."""


class _Repairs:
    """Remembers the repairs of one job. Each pause is twice as long as the one before, until nobody edits for a while.

    A webhook that edits whatever is written would undo each repair at once, for ever. A change of the job's spec starts
    anew: what follows from it is what the user asked for.
    """

    def __init__(self) -> None:
        self._last = _NEVER_REPAIRED

    def due(self, job: Job, now: datetime) -> datetime | None:
        """Returns when the next repair may be made; None for now."""
        generation, _, due = self._last
        return due if generation == job.generation and now < due else None

    def add(self, job: Job, actions: Iterable[Action], now: datetime) -> None:
        """Notes the repairs among actions that are about to be carried out."""
        if not any(isinstance(action, Restore) for action in actions):
            return
        generation, pause, due = self._last
        starts_anew = generation != job.generation or now >= due + _LONGEST_REPAIR_PAUSE
        pause = _SHORTEST_REPAIR_PAUSE if starts_anew else min(2 * pause, _LONGEST_REPAIR_PAUSE)
        self._last = (job.generation, pause, now + pause)


_FIRST_REFUSAL_PAUSE = timedelta(seconds=5)
_LONGEST_REFUSAL_PAUSE = timedelta(seconds=60)
"""A quota is raised and a policy goes away without any event for us."""


class _Refusals:
    """Remembers what was refused for a job, so that a pass does not ask for it again at once.

    The pause doubles with every refusal, until the spec or the attempt is another.
    """

    def __init__(self) -> None:
        self._subject: tuple[str, int, int | None] | None = None
        self._pause = _FIRST_REFUSAL_PAUSE
        self._known: Obstacle | None = None

    def standing(self, job: Job, now: datetime) -> Obstacle | None:
        """Returns what was refused and is not tried yet."""
        known = self._known
        is_standing = known and known.due and now < known.due and self._subject == _subject(job)
        return known if is_standing else None

    def add(self, job: Job, obstacle: Obstacle, now: datetime) -> Obstacle:
        """Notes a refusal; returns it with the time to try again."""
        repeated = self._known is not None and self._subject == _subject(job)
        self._pause = min(2 * self._pause, _LONGEST_REFUSAL_PAUSE) if repeated else _FIRST_REFUSAL_PAUSE
        self._subject = _subject(job)
        self._known = replace(obstacle, due=now + self._pause)
        return replace(self._known, is_new=True)

    def clear(self) -> None:
        """Notes that nothing is refused any more."""
        self._known = None


def _subject(job: Job) -> tuple[str, int, int | None]:
    return job.uid, job.generation, job.status.attempt


_NUMBERS_PERIOD = timedelta(seconds=2)
_START_PERIOD = timedelta(seconds=0.3)
"""What each job that starts adds to the period of all that start: together they write three statuses a second."""
_LONGEST_PERIOD = timedelta(minutes=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class _Pace:
    """Lets the numbers of a job wait until some time after the last write; the first is written at once.

    Attributes:
        is_starting: Whether the job waits for its replicas to be ready, and for nothing else.
    """

    def __init__(self) -> None:
        self._written = _LONG_AGO
        self.is_starting = False

    def due(self, before: Status, after: Status, now: datetime, starting: Callable[[], int]) -> datetime | None:
        """Returns when a status may be written; None for now.

        Args:
            before: The status as it is.
            after: The status as it was decided.
            now: The time.
            starting: Returns how many jobs start.
        """
        self.is_starting = after.reason == Reason.STARTING
        if not differ_in_numbers_alone(before, after):
            return None
        # Replicas become ready one by one, and a hundred jobs may start at once.
        longer = starting() * _START_PERIOD if self.is_starting else _NUMBERS_PERIOD
        period = min(max(_NUMBERS_PERIOD, longer), _LONGEST_PERIOD)
        due = self._written + period
        return due if now < due else None

    def wrote(self, now: datetime) -> None:
        """Notes that the job's status was written."""
        self._written = now


_CONFLICT = 409
"""The pass was decided on an old state; the next one reads the new one."""


class _Failures:
    """Counts the passes over one job that fail in a row.

    One failure is no news: a request is lost now and then, and the next pass makes up for it.

    Attributes:
        told: What the status or an event has said last about them.
    """

    def __init__(self) -> None:
        self._number = 0
        self._since = ""
        self.told = ""

    def add(self, error: Exception, now: datetime) -> str | None:
        """Adds a failed pass; returns what to tell the user, from the second in a row on."""
        if isinstance(error, ApiError) and error.code == _CONFLICT:
            return None
        self._number += 1
        if self._number == 1:
            self._since = rfc3339(now)
            return None
        return f"the operator cannot go on with this job since {self._since}, and tries again: {_reason(error)}"

    def clear(self) -> None:
        """Notes that a pass went well."""
        self._number, self.told = 0, ""


def _reason(error: Exception) -> str:
    if isinstance(error, ApiError):
        return str(error)
    return f"a defect of the operator, see its log ({type(error).__name__}: {error})"


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

    refusals: _Refusals = field(default_factory=_Refusals)
    repairs: _Repairs = field(default_factory=_Repairs)


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
        refused_by: Who refuses its children, for example `quota compute`.
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
    refused_by: str = ""
    lost: Sequence[datetime] = ()
    on_nodes: Mapping[str, int] = field(default_factory=dict)
    pods: Parser[Pod] = field(default_factory=lambda: Parser(parse_pod))
    services: Parser[Service] = field(default_factory=lambda: Parser(parse_service))
    failures: _Failures = field(default_factory=_Failures)
    events: LastEvents = field(default_factory=LastEvents)
    killed: Killed = field(default_factory=dict)
    pace: _Pace = field(default_factory=_Pace)
    actions: Actions = field(default_factory=Actions)
    tensorboard: Actions = field(default_factory=Actions)
    unreadable: str = ""
    looked: datetime | None = None
    awaited: _Awaited = field(default_factory=_Awaited)

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
        self.refused_by = _refused_by(job) if self.reason == Reason.CHILD_REJECTED else ""

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


def _refused_by(job: Object) -> str:
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
