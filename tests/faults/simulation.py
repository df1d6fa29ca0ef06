"""A cluster in memory with the real operator in it, step by step, until nothing happens any more."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from qtj.local.jobs import JobController
from qtj.local.store import Change, ClusterStore
from qtj_operator.api.names import LABEL_JOB, LABEL_ROLE, Role
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import Reconciler
from tests.faults import admission, housekeeping, kueue
from tests.faults.actors import NAMESPACE, Deed, Kubelet, Pod, Script, User
from tests.faults.admission import Denial, Gatekeeper
from tests.faults.client import Crash, FaultyClient, Plan
from tests.faults.deployments import DeploymentController
from tests.faults.housekeeping import Housekeeping
from tests.faults.invariants import Invariants
from tests.faults.kueue import Kueue

START = datetime(2030, 1, 1, tzinfo=UTC)
RESYNC = timedelta(seconds=300)
ENOUGH = 2000
"""Steps in which any life comes to rest."""

LONG = timedelta(seconds=301)
"""Time after which no pause and no node's time goes on any more."""

FIRST_DELAY, LAST_DELAY = 0.2, 60
"""Seconds after which a pass that failed is repeated, the first time and after many."""

FOLLOWS_SERVER = True
"""Whether the operator takes the time from the API server, so that the clock of its own machine does not matter."""


class Actor(Protocol):
    """Somebody else in the cluster."""

    def step(self) -> bool:
        """Does the next thing; returns whether there was one."""
        ...


class Operator:
    """The operator's process: which jobs are worth a look, and when it wants to look again.

    Attributes:
        pending: Jobs to look at, in order.
        alarms: When to look again although nothing happens.
        passes: How many there were.
        ahead: By how much the clock of its machine is ahead of the API server's.
    """

    def __init__(
        self, store: ClusterStore, clock: Callable[[], datetime], gatekeeper: Gatekeeper, plan: Plan | None = None
    ) -> None:
        self.invariants = Invariants(clock)
        self.client = FaultyClient(store, clock, self.invariants, gatekeeper, plan)
        self.ahead = timedelta(0)
        self._failures: Counter[Key] = Counter()
        self.pending: list[Key] = []
        self.alarms: dict[Key, datetime] = {}
        self.passes = 0
        self._store = store
        self._clock = clock
        self._reconciler = self._process()

    async def look(self, key: Key, behind: int = 0) -> None:
        """One pass, which may read the cluster as it was so many changes ago."""
        self.passes += 1
        if behind:
            self.pending.append(key)  # a watch that is behind tells of the rest later
        self.invariants.begins(self._store.version, behind)
        try:
            with self.client.behind(behind) if behind else nullcontext():
                delay = await self._reconciler.reconcile(key)
        except Crash:
            self.restart()
            self.invariants.ends(well=False)
        except ApiError:
            self.alarms[key] = self._clock() + self._back_off(key)
            self.invariants.ends(well=False)
        else:
            self.invariants.ends(well=True)
            self._failures.pop(key, None)
            if delay == timedelta(0):
                self.pending.append(key)
            elif delay is not None:
                self.alarms[key] = self._clock() + delay

    def _back_off(self, key: Key) -> timedelta:
        self._failures[key] += 1
        return timedelta(seconds=max(1, min(FIRST_DELAY * 2 ** self._failures[key], LAST_DELAY)))

    def _tell_time(self) -> datetime:
        return self._clock() + (timedelta(0) if FOLLOWS_SERVER else self.ahead)

    def restart(self) -> None:
        """A new process knows nothing, and lists all jobs."""
        self.client.revive()
        self.invariants.disturbs()
        self._failures.clear()
        self._reconciler = self._process()
        self.alarms.clear()
        self.pending = self.known()

    def _process(self) -> Reconciler:
        return Reconciler(self.client, NoProgress(), self._tell_time)

    def known(self) -> list[Key]:
        """Returns all jobs."""
        jobs = self._store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {})
        return [(NAMESPACE, job["metadata"]["name"]) for job in jobs]


class Simulation:
    """A cluster, its operator, everybody else, and the time.

    Attributes:
        now: By the clock of the API server.
        mesh: Whether a webhook adds to Services and pods.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.now = START
        self.mesh = False
        uids = map("{0:08d}-0000-4000-8000-{0:012d}".format, itertools.count(1))  # names of groups hold their beginning
        self.store = ClusterStore(lambda: self.now, self._changed, uids.__next__, self._admit)
        self.gatekeeper = Gatekeeper()
        self.operator = Operator(self.store, lambda: self.now, self.gatekeeper, plan)
        self.kueue = Kueue(self.store)
        self.job_controller = JobController(self.store, lambda: self.now)
        self.controllers: Sequence[Actor] = (
            self.job_controller,
            Housekeeping(self.store),
            DeploymentController(self.store),
            self.kueue,
        )
        self.actors: Sequence[Actor] = ()
        self._overlooked: dict[str, datetime] = {}

    def _admit(self, resource: Resource, obj: dict[str, Any]) -> None:
        """What webhooks, and controllers as they create an object, do to it."""
        housekeeping.track(resource, obj)
        kueue.webhook(resource, obj)
        if self.mesh:
            admission.mutate(resource, obj)

    async def rest(self) -> None:
        """Goes on until nothing happens any more."""
        for _ in range(ENOUGH):
            if not await self.step():
                return
        raise AssertionError(f"no rest after {ENOUGH} steps")

    async def step(self) -> bool:
        """Does the next thing: a pass that is due, or what somebody else does, or the next alarm, or a resync."""
        if self.operator.pending:
            await self.look(self.operator.pending.pop(0))
            return True
        self.now += timedelta(seconds=1)
        self._watch_over_replicas()
        if any(actor.step() for actor in self.actors):
            return True
        rang = self._ring()
        return rang or await self._resync() or self._retry()

    async def look(self, key: Key) -> None:
        """One pass over a job."""
        await self.operator.look(key)

    def hear(self, key: Key) -> None:
        """The operator is told that a job is worth a look; like its work queue, it merges hints until it looks."""
        if key not in self.operator.pending:
            self.operator.pending.append(key)

    async def _resync(self) -> bool:
        """Looks at every job, as the operator does now and then; returns whether that led to anything."""
        before = self.store.version
        for key in self.operator.known():
            await self.look(key)
        return self.store.version != before or bool(self.operator.pending or self.operator.alarms)

    def _ring(self) -> bool:
        """Goes on to the next alarm, or to the next resync if that comes first; returns whether there was an alarm."""
        operator = self.operator
        if not operator.alarms:
            return False
        key, due = min(operator.alarms.items(), key=lambda item: item[1])
        if due - self.now > RESYNC:
            self.now += RESYNC
            operator.pending = operator.known()
            return True
        del operator.alarms[key]
        self.now = max(self.now, due)
        operator.pending.append(key)
        return True

    def _retry(self) -> bool:
        """Goes on to when somebody else does the next thing; returns whether there is one."""
        dues = [due for due in (self.job_controller.next_retry(), self.next_deed()) if due is not None]
        self.now = max(self.now, min(dues, default=self.now))
        return bool(dues)

    def next_deed(self) -> datetime | None:
        """Returns when a user does something next."""
        return None

    def overlooked(self) -> list[Pod]:
        """Returns pods that have failed or were to go, and that their job needs others for, and are still there."""
        jobs = list(self.store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {}))
        training = {job["metadata"]["uid"] for job in jobs if _is_in(job, "Pending", "Running", "Restarting")}
        inferring = {job["metadata"]["uid"] for job in jobs if _is_in(job, "Inferring")}
        runs = {
            run["metadata"]["uid"]
            for run in self.store.select(Resource.JOBS, NAMESPACE, {})
            if _owner(run) in inferring and "deletionTimestamp" not in run["metadata"]
        }
        pods = self.store.select(Resource.PODS, NAMESPACE, {}) if training or runs else ()
        return [
            pod for pod in pods if (_owner(pod) in training and _is_lost(pod)) or (_owner(pod) in runs and _goes(pod))
        ]

    def _watch_over_replicas(self) -> None:
        lost = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in self.overlooked()}
        self._overlooked = {uid: self._overlooked.get(uid, self.now) for uid in lost}
        late = [name for uid, name in lost.items() if self.now - self._overlooked[uid] > LONG]
        if late:
            self.operator.invariants.broken.append(f"{late} is neither replaced nor gone after {LONG}")

    def _changed(self, change: Change) -> None:
        self.operator.invariants.check(change)
        meta = change.object["metadata"]
        is_job = change.resource is Resource.QUANTUM_TRAINING_JOBS
        name = meta["name"] if is_job else meta.get("labels", {}).get(LABEL_JOB)
        if name is not None:
            self.hear((NAMESPACE, name))


def _is_in(job: Object, *phases: str) -> bool:
    """Whether the job is in one of these phases, and stays: whoever deletes it sees to its children."""
    return "deletionTimestamp" not in job["metadata"] and job.get("status", {}).get("phase") in phases


def _owner(obj: Object) -> str:
    owners = obj["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def _is_lost(pod: Object) -> bool:
    evaluates = pod["metadata"]["labels"].get(LABEL_ROLE) == Role.EVALUATOR.task_type
    return not evaluates and (pod["status"]["phase"] == "Failed" or _goes(pod))


def _goes(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


@dataclass(frozen=True, slots=True)
class Watch:
    """What happens to one event of the watches, counted from 0; nothing by default."""

    drop: int = -1
    double: int = -1


@dataclass(frozen=True, slots=True)
class Delay:
    """A pass that reads the cluster as it was some changes ago; none by default."""

    number: int = -1
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong in a life; nothing by default.

    Attributes:
        plan: A write that fails.
        restart_before: The pass before which the operator is restarted.
    """

    plan: Plan | None = None
    watch: Watch = field(default_factory=Watch)
    restart_before: int = -1
    delay: Delay = field(default_factory=Delay)

    def __str__(self) -> str:
        if self.plan is not None:
            return f"{self.plan.fault} at write {self.plan.write}"
        if self.restart_before >= 0:
            return f"restart before pass {self.restart_before}"
        if self.delay != Delay():
            return f"pass {self.delay.number} reads what was {self.delay.changes} changes ago"
        return "nothing goes wrong" if self.watch == Watch() else f"event {self.watch}"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is odd about a cluster; nothing by default.

    Attributes:
        mesh: Whether a webhook adds to Services and pods.
        operator_clock: By how much the clock of the operator's machine is ahead.
        denial: Who denies pods, until somebody puts an end to it.
    """

    mesh: bool = False
    operator_clock: timedelta = timedelta(0)
    denial: Denial | None = None


_LOOP = asyncio.Runner()
"""One for all lives of a process: a loop of its own costs each as much as some passes."""


class Life(Simulation):
    """A scenario that is being played.

    Args:
        job: The manifest that the user applies.
        script: How programs behave.
        deeds: What the user does.
        mishap: What goes wrong.
        setting: What is odd about the cluster.
    """

    def __init__(
        self, job: dict[str, Any], script: Script, deeds: list[Deed], mishap: Mishap, setting: "Setting"
    ) -> None:
        super().__init__(mishap.plan)
        self.events = 0
        self._job = job
        self._mishap = mishap
        self.mesh = setting.mesh
        self.operator.ahead = setting.operator_clock
        self.gatekeeper.denial = setting.denial
        self._user, kubelet = User(self, deeds), Kubelet(self.store, script, lambda: self.now)
        self.released = kubelet.released
        self.actors = (self._user, kubelet, *self.controllers)

    def play(self) -> "Life":
        """Lives until nothing happens any more."""
        self.store.create(Resource.QUANTUM_TRAINING_JOBS, self._job)
        _LOOP.run(self.rest())
        return self

    def next_deed(self) -> datetime | None:
        """See `Simulation.next_deed`."""
        return self._user.next_due()

    async def look(self, key: Key) -> None:
        """One pass, before which the operator may be restarted, and which may read late."""
        number, delay = self.operator.passes, self._mishap.delay
        if number == self._mishap.restart_before:
            self.operator.restart()
        await self.operator.look(key, delay.changes if number == delay.number else 0)

    def hear(self, key: Key) -> None:
        """Tells the operator, unless the event is the one that is lost; twice if it is the one that is repeated."""
        number, self.events = self.events, self.events + 1
        watch = self._mishap.watch
        if number != watch.drop:
            super().hear(key)
        if number == watch.double:
            self.operator.pending.append(key)
