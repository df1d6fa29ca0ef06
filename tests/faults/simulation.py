"""A cluster in memory with the real operator in it, step by step, until nothing happens any more."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from qtj_operator.api.contract import Progress
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import ApiError, Key, Resource
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.local.jobs import JobController
from qtj_operator.local.store import Change, Store
from tests.faults.actors import NAMESPACE, Deed, Kubelet, Script, User
from tests.faults.client import Crash, FaultyClient, Plan
from tests.faults.invariants import Invariants

START = datetime(2030, 1, 1, tzinfo=UTC)
RESYNC = timedelta(seconds=300)
ENOUGH = 2000
"""Steps in which any life comes to rest."""


class NoProgress:
    """A `ProgressSource` that knows nothing."""

    def latest(self, _key: Key, _address: str | None) -> Progress | None:
        return None


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
    """

    def __init__(self, store: Store, clock: Callable[[], datetime], plan: Plan | None = None) -> None:
        self.invariants = Invariants()
        self.client = FaultyClient(store, clock, self.invariants, plan)
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
        except ApiError:
            self.alarms[key] = self._clock() + timedelta(seconds=1)
        else:
            if delay == timedelta(0):
                self.pending.append(key)
            elif delay is not None:
                self.alarms[key] = self._clock() + delay
        finally:
            self.invariants.ends()

    def restart(self) -> None:
        """A new process knows nothing, and lists all jobs."""
        self.client.revive()
        self._reconciler = self._process()
        self.alarms.clear()
        self.pending = self.known()

    def _process(self) -> Reconciler:
        return Reconciler(self.client, NoProgress(), self._clock)

    def known(self) -> list[Key]:
        """Returns all jobs."""
        jobs = self._store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {})
        return [(NAMESPACE, job["metadata"]["name"]) for job in jobs]


class Simulation:
    """A cluster, its operator, everybody else, and the time."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.now = START
        self.store = Store(lambda: self.now, self._changed)
        self.operator = Operator(self.store, lambda: self.now, plan)
        self.job_controller = JobController(self.store, lambda: self.now)
        self.actors: Sequence[Actor] = ()

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
        """Goes on to when the next failed pod of inference is replaced; returns whether there is one."""
        due = self.job_controller.next_retry()
        if due is not None:
            self.now = max(self.now, due)
        return due is not None

    def _changed(self, change: Change) -> None:
        self.operator.invariants.check(change)
        meta = change.object["metadata"]
        is_job = change.resource is Resource.QUANTUM_TRAINING_JOBS
        name = meta["name"] if is_job else meta.get("labels", {}).get(LABEL_JOB)
        if name is not None:
            self.hear((NAMESPACE, name))


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


class Life(Simulation):
    """A scenario that is being played.

    Args:
        job: The manifest that the user applies.
        script: How programs behave.
        deeds: What the user does.
        mishap: What goes wrong.
    """

    def __init__(self, job: dict[str, Any], script: Script, deeds: list[Deed], mishap: Mishap) -> None:
        super().__init__(mishap.plan)
        self.events = 0
        self._job = job
        self._mishap = mishap
        self.actors = (User(self.store, deeds), Kubelet(self.store, script), self.job_controller)

    def play(self) -> "Life":
        """Lives until nothing happens any more."""
        self.store.create(Resource.QUANTUM_TRAINING_JOBS, self._job)
        asyncio.run(self.rest())
        return self

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
