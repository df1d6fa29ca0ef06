"""A scenario that is being played, with at most one mishap."""

import asyncio
from datetime import datetime
from typing import Any

from qtj_operator.controller.client import Key, Resource
from tests.faults.actors import Deed, Kubelet, Script, User
from tests.faults.mishaps import Mishap, Setting
from tests.faults.simulation import Simulation

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
