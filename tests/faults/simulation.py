"""A cluster in memory with the real operator in it, step by step, until nothing happens any more."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from qtj.local.jobs import JobController
from qtj.local.store import Change, ClusterStore
from qtj_operator.api.names import LABEL_ROLE, Role
from qtj_operator.controller.client import Key, Object, Resource
from tests.faults import admission, housekeeping, kueue
from tests.faults.admission import Gatekeeper
from tests.faults.deployments import DeploymentController
from tests.faults.hanging import Hanging
from tests.faults.housekeeping import Housekeeping
from tests.faults.kueue import Kueue
from tests.faults.simulated_operator import Operator
from tools.pod_status import NAMESPACE, Pod

START = datetime(2030, 1, 1, tzinfo=UTC)
RESYNC = timedelta(seconds=300)
ENOUGH = 2000
"""Steps in which any life comes to rest."""

LONG = timedelta(seconds=301)
"""Time after which no pause and no node's time goes on any more."""


class Actor(Protocol):
    """Somebody else in the cluster."""

    def step(self) -> bool:
        """Does the next thing; returns whether there was one."""
        ...


class Simulation:
    """A cluster, its operator, everybody else, and the time.

    Attributes:
        now: By the clock of the API server.
        mesh: Whether a webhook adds to Services and pods.
    """

    def __init__(self) -> None:
        self.now = START
        self.mesh = False
        uids = map("{0:08d}-0000-4000-8000-{0:012d}".format, itertools.count(1))  # names of groups hold their beginning
        self.store = ClusterStore(lambda: self.now, self._changed, uids.__next__, self._admit)
        self.gatekeeper = Gatekeeper()
        self.hanging = Hanging(self.store, lambda: self.now)
        self.operator = Operator(self.store, lambda: self.now, self.gatekeeper, self.hear, self.hanging)
        self.kueue = Kueue(self.store)
        self.job_controller = JobController(self.store, lambda: self.now)
        self.controllers: tuple[Actor, ...] = (
            self.job_controller,
            Housekeeping(self.store),
            DeploymentController(self.store),
            self.kueue,
        )
        self.actors: tuple[Actor, ...] = ()
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
        if self.operator.watches.recover(self.now):
            return True
        if any(actor.step() for actor in self.actors):
            return True
        rang = self._ring()
        return rang or await self._resync() or self._catch_up() or self._retry()

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
        watches = operator.watches.next_due()
        if watches is not None and watches < due and self._catch_up():
            return True
        if due - self.now > RESYNC:
            self.now += RESYNC
            operator.pending = operator.known()
            return True
        del operator.alarms[key]
        self.now = max(self.now, due)
        operator.pending.append(key)
        return True

    def _catch_up(self) -> bool:
        """Goes on to when a watch that is behind delivers again; returns whether there is one."""
        watches = self.operator.watches
        if not watches.behind:
            return False
        self.now = max(self.now, watches.next_due() or self.now)
        return watches.recover()

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
        self.operator.watches.tell(change)


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
