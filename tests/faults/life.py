"""A scenario that is being played, with at most one mishap."""

import asyncio
from datetime import datetime
from typing import Any

from qtj.local.store import Change
from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import Key, Resource
from tests.faults.actors import Deed, Kubelet, Script, User
from tests.faults.mishaps import Mishap, Setting
from tests.faults.simulation import Simulation
from tests.faults.watches import Trouble

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
        self, job: dict[str, Any], script: Script, deeds: list[Deed], mishap: Mishap, setting: Setting
    ) -> None:
        super().__init__(mishap.plan)
        self.events = 0
        self._job = job
        self._mishap = mishap
        self.mesh = setting.mesh
        self.operator.ahead = setting.operator_clock
        self.gatekeeper.denial, self.gatekeeper.spared = setting.denial, setting.spared
        if setting.held:
            self.kueue.quota = 0
        self.hanging.hangs = script.hangs
        self._user, kubelet = User(self, deeds), Kubelet(self.store, script, lambda: self.now)
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
        if self.operator.passes == self._mishap.restart_before:
            self.operator.restart()
        await self.operator.look(key)

    def _changed(self, change: Change) -> None:
        """Lets the event of which it is the turn have its trouble."""
        number, self.events = self.events, self.events + (change.resource in CACHED)
        watch, watches = self._mishap.watch, self.operator.watches
        spoilt = number == watch.event and change.resource in CACHED
        if spoilt:
            watches.spoil(watch.trouble, change.resource)
        super()._changed(change)
        if spoilt and watch.trouble is Trouble.DOUBLED:
            watches.repeat(change)
