"""One life of a job: the real reconcile on a cluster in memory, step by step, until nothing happens any more."""

import asyncio
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from qtj_operator.api.contract import Progress
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import ApiError, Key, Resource
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.local.store import Change, Store
from tests.faults.actors import NAMESPACE, Deed, JobController, Kubelet, Script, User
from tests.faults.client import Crash, FaultyClient, Plan
from tests.faults.oracle import Invariants

START = datetime(2030, 1, 1, tzinfo=UTC)
RESYNC = timedelta(seconds=300)
ENOUGH = 2000
"""Steps in which any life comes to rest."""


class NoProgress:
    """A `ProgressSource` that knows nothing."""

    def latest(self, _key: Key, _address: str | None) -> Progress | None:
        return None


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


@dataclass
class Life:
    """A scenario that is being played.

    Attributes:
        job: The manifest that the user applies.
        restart_before: The pass before which the operator is restarted.
    """

    job: dict[str, Any]
    script: Script
    deeds: list[Deed]
    plan: Plan | None = None
    watch: Watch = field(default_factory=Watch)
    restart_before: int = -1
    delay: Delay = field(default_factory=Delay)
    now: datetime = START
    passes: int = 0
    events: int = 0
    pending: list[Key] = field(default_factory=list)
    alarms: dict[Key, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = Store(lambda: self.now, self._hint)
        self.client = FaultyClient(self.store, self.plan)
        self._reconciler = self._operator()
        self.invariants = Invariants()
        self._actors = (
            User(self.store, self.deeds),
            Kubelet(self.store, self.script),
            JobController(self.store),
        )

    def play(self) -> "Life":
        """Lives until nothing happens any more."""
        return asyncio.run(self._play())

    async def _play(self) -> "Life":
        self.store.create(Resource.QUANTUM_TRAINING_JOBS, self.job)
        for _ in range(ENOUGH):
            if not await self._step():
                return self
        raise AssertionError(f"no rest after {ENOUGH} steps")

    async def _step(self) -> bool:
        """Does the next thing: a pass that is due, or what somebody else does, or the next alarm, or a resync."""
        if self.pending:
            await self._pass(self.pending.pop(0))
            return True
        self.now += timedelta(seconds=1)
        if any(actor.step() for actor in self._actors):
            return True
        rang = self._ring()
        return rang or await self._resync()

    async def _resync(self) -> bool:
        """Looks at every job, as the operator does now and then; returns whether that led to anything."""
        before = self.store.version
        for key in self._keys():
            await self._pass(key)
        return self.store.version != before or bool(self.pending or self.alarms)

    def _ring(self) -> bool:
        """Goes on to the next alarm, or to the next resync if that comes first; returns whether there was an alarm."""
        if not self.alarms:
            return False
        key, due = min(self.alarms.items(), key=lambda item: item[1])
        if due - self.now > RESYNC:
            self.now += RESYNC
            self.pending = list(self._keys())
            return True
        del self.alarms[key]
        self.now = max(self.now, due)
        self.pending.append(key)
        return True

    async def _pass(self, key: Key) -> None:
        if self.passes == self.restart_before:
            self._restart()
        self.passes += 1
        behind = self.delay.changes if self.passes - 1 == self.delay.number else 0
        try:
            if behind:
                self.pending.append(key)  # a watch that is behind tells of the rest later
            with self.client.behind(behind) if behind else nullcontext():
                delay = await self._reconciler.reconcile(key)
        except Crash:
            self._restart()
        except ApiError:
            self.alarms[key] = self.now + timedelta(seconds=1)
        else:
            if delay == timedelta(0):
                self.pending.append(key)
            elif delay is not None:
                self.alarms[key] = self.now + delay

    def _restart(self) -> None:
        """A new process knows nothing, and lists all jobs."""
        self.client.revive()
        self._reconciler = self._operator()
        self.alarms.clear()
        self.pending = list(self._keys())

    def _operator(self) -> Reconciler:
        return Reconciler(self.client, NoProgress(), lambda: self.now)

    def _keys(self) -> Iterable[Key]:
        jobs = self.store.select(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, {})
        return [(NAMESPACE, job["metadata"]["name"]) for job in jobs]

    def _hint(self, change: Change) -> None:
        self.invariants.check(change)
        meta = change.object["metadata"]
        name = (
            meta["name"] if change.resource is Resource.QUANTUM_TRAINING_JOBS else meta.get("labels", {}).get(LABEL_JOB)
        )
        if name is None:
            return
        number, self.events = self.events, self.events + 1
        times = 0 if number == self.watch.drop else 2 if number == self.watch.double else 1
        self.pending += [(NAMESPACE, name)] * times
