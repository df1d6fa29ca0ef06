"""A cluster in which every step is somebody's choice: what users, nodes and controllers can do to one job."""

from datetime import datetime, timedelta
from typing import Any

from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_INFERENCE
from qtj_operator.controller.client import Key, Resource
from tests.faults.actors import Kubelet, Script
from tests.faults.history import wrong_end
from tests.faults.kueue import PLENTY
from tests.faults.simulation import RESYNC
from tests.faults.world_nodes import Nodes
from tools.pod_status import NAMESPACE

KEY = (NAMESPACE, "qcnn")
ENOUGH = 60
"""Passes in which the operator comes to rest while the world stands still."""


class World(Nodes):
    """A cluster with one job at a time."""

    # What users do

    def edit(self, **spec: Any) -> None:
        """Changes the job's spec."""
        self.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["spec"].update(spec))

    def delete(self, *, foreground: bool) -> None:
        """Deletes the job; in the foreground, after its children."""
        self.history.deleted = True
        if foreground:
            self._finalize(["foregroundDeletion"])
        self.store.delete(Resource.QUANTUM_TRAINING_JOBS, *KEY)

    def strangers_leave(self) -> None:
        """The names of children are free again."""
        for resource, name in self.strangers:
            self.store.remove(resource, NAMESPACE, name)
        self.strangers.clear()

    # What controllers do

    def controllers_work(self) -> None:
        """The Job controller and the garbage collector do what is to be done."""
        while any([controller.step() for controller in self.controllers]):  # noqa: C419  each has its turn
            pass
        if self.job is not None and "deletionTimestamp" in self.job["metadata"]:
            self._collect(self.job["metadata"]["uid"])

    def inference_ends(self, how: str) -> None:
        """Programs of inference start, and end."""
        self.controllers_work()
        self.all_pods_start()
        for pod in self.every(Resource.PODS):
            if LABEL_INFERENCE in pod["metadata"]["labels"]:
                self.end(pod, how)
        self.controllers_work()

    async def look(self, key: Key) -> None:
        """One pass, and what holds after every pass."""
        self.history.late += self.operator.watches.behind
        await self.operator.look(key)
        broken = [*self.operator.invariants.broken, *self.operator.client.own.broken]
        assert not broken, broken
        trained = self.job is not None and Job.parse(self.job).is_trained
        assert self.history.leader_done or not trained, "the leader was stopped, and counts as trained"

    async def operator_works(self) -> None:
        """The operator does what is due, while the world stands still."""
        for _ in range(ENOUGH):
            self.operator.watches.recover(self.now)
            for key, due in list(self.operator.alarms.items()):
                if due <= self.now:
                    del self.operator.alarms[key]
                    self.hear(key)
            if not self.operator.pending:
                return
            await self.look(self.operator.pending.pop(0))
        raise AssertionError(f"the operator is still busy after {ENOUGH} passes")

    def everybody_works(self) -> None:
        """What would happen anyway happens."""
        self.run(self.operator_works())
        self.confirm_deletions()
        self.run(self.operator_works())
        self.controllers_work()
        self.all_pods_start()
        self.run(self.operator_works())

    # What time does

    async def time_passes(self, seconds: float) -> None:
        """The operator does what becomes due, when it does."""
        until = self.now + timedelta(seconds=seconds)
        await self.operator_works()
        while (due := self._next_due()) is not None and due <= until:
            self.now = max(self.now, due)
            await self.operator_works()
        self.now = until
        if seconds >= RESYNC.total_seconds():
            self.operator.pending = self.operator.known()
            await self.operator_works()

    def _next_due(self) -> datetime | None:
        """Returns when the operator does something by itself, or hears again of what happens."""
        watches = self.operator.watches.next_due()
        return min((*self.operator.alarms.values(), *((watches,) if watches else ())), default=None)

    async def come_to_rest(self) -> None:
        """No faults any more, and good programs: the job ends as its history allows, and then costs nothing."""
        self.silent.clear()
        self.strangers_leave()
        self.history.leader_done = True  # from here on, the programs of all pods succeed
        self.gatekeeper.denial, self.kueue.quota = None, PLENTY
        self.actors = (Kubelet(self.store, Script(), lambda: self.now), *self.controllers)
        self.operator.restart()
        while True:
            await self._rest_or_go()
            wrong = [*self.operator.wrong(), *wrong_end(self.store, self.history)]
            assert not wrong, wrong
            if self.phase != "Suspended":
                break
            self.edit(suspend=False)
        writes = self.operator.client.writes
        await self.time_passes(86400)
        assert self.operator.client.writes == writes, "a settled job costs nothing"

    async def _rest_or_go(self) -> None:
        for _ in range(ENOUGH):
            await self.rest()
            if self.job is None or "deletionTimestamp" not in self.job["metadata"]:
                return
            self._collect(self.job["metadata"]["uid"])
        raise AssertionError("the job is still on its way out, for its children are held")

    def _collect(self, uid: str) -> None:
        """Lets the children of a job go before it, where that is how it was deleted."""
        children = [
            (resource, child["metadata"]["name"])
            for resource in (Resource.PODS, Resource.SERVICES, Resource.JOBS, Resource.DEPLOYMENTS)
            for child in self.every(resource)
            if child["metadata"]["ownerReferences"][0]["uid"] == uid
        ]
        for resource, name in children:
            self.store.delete(resource, NAMESPACE, name)
        if not children:
            self._finalize([])

    def _finalize(self, finalizers: list[str]) -> None:
        def change(job: dict[str, Any]) -> None:
            job["metadata"]["finalizers"] = finalizers

        self.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, change)
