"""A scenario that is being played, with at most one mishap."""

import asyncio
from datetime import datetime

from qtj.local.store import Change
from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import Key, Resource
from tests.faults.actors import Kubelet, User
from tests.faults.branches import Branches
from tests.faults.client import Fault
from tests.faults.scenario import Scenario
from tests.faults.simulation import Simulation
from tests.faults.watches import Trouble

_LOOP = asyncio.Runner()
"""One for all lives of a process: a loop of its own costs each as much as some passes."""


class Life(Simulation):
    """A scenario that is being played, and parts into a process for each mishap."""

    def __init__(self, scenario: Scenario, branches: Branches) -> None:
        super().__init__()
        self.events = 0
        self._job = scenario.job()
        self._branches = branches
        script, setting = scenario.script, scenario.setting
        self.mesh = setting.mesh
        self.operator.ahead = setting.operator_clock
        self.operator.client.spoils = self._spoils
        self.gatekeeper.denial, self.gatekeeper.spared = setting.denial, setting.spared
        if setting.held:
            self.kueue.quota = 0
        self.hanging.hangs = script.hangs
        self._user, kubelet = User(self, scenario.deeds()), Kubelet(self.store, script, lambda: self.now)
        self.released, self.places = kubelet.released, kubelet.places
        self.actors = (self._user, kubelet, *self.controllers)

    def play(self) -> "Life":
        """Lives until nothing happens any more."""
        self.store.create(Resource.QUANTUM_TRAINING_JOBS, self._job)
        _LOOP.run(self.rest())
        self.operator.watches.recover()
        self.operator.invariants.broken[:] = self.operator.wrong()
        return self

    def next_deed(self) -> datetime | None:
        """See `Simulation.next_deed`."""
        return self._user.next_due()

    async def look(self, key: Key) -> None:
        """One pass, before which the operator may be restarted."""
        if self._branches.reach(("pass", self.operator.passes)):
            self.operator.restart()
        await self.operator.look(key)

    def _spoils(self, write: int) -> Fault | None:
        mishap = self._branches.reach(("write", write))
        return mishap.what if mishap and isinstance(mishap.what, Fault) else None

    def _changed(self, change: Change) -> None:
        """Lets the event of which it is the turn have its trouble."""
        mishap = self._branches.reach(("event", self.events)) if change.resource in CACHED else None
        self.events += change.resource in CACHED
        trouble = mishap.what if mishap and isinstance(mishap.what, Trouble) else None
        if trouble:
            self.operator.watches.spoil(trouble, change.resource)
        super()._changed(change)
        if trouble is Trouble.DOUBLED:
            self.operator.watches.repeat(change)
