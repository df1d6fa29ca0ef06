"""An operator that ends at any request, before or after the API server has done it, changes nothing of a study."""

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import pytest

from qtj_operator.controller.client import Object, Resource
from tests.controller.memory import Cluster, RecordingClient
from tests.controller.study_lab import JOBS, TEMPLATE, StudyLab, mse_of
from tests.controller.test_study import table
from tests.controller.test_study_final import FINAL, FINAL_STATUS, FINAL_TABLE, SIX

T = TypeVar("T")

WRITES = 21
"""Of a whole life without a crash: six trials, two of them of the final training, whose jobs are deleted as soon as
they may, and two events. The final ones are recorded together with the last result of the others."""


class Crash(Exception):
    """The operator ends."""


class MortalClient(RecordingClient):
    """A client whose operator ends at one of its writes.

    Args:
        inner: Who does the work.
        fatal: The number of the write, from 0.
        done: Whether the API server does it all the same.
    """

    def __init__(self, inner: Cluster, fatal: int, *, done: bool) -> None:
        super().__init__(inner)
        self._fatal, self._done = fatal, done
        self.crashed = False

    def ends_at(self, fatal: int, *, done: bool) -> None:
        """The operator ends at another write than before."""
        self._fatal, self._done, self.crashed = fatal, done, False

    async def create(self, resource: Resource, manifest: Object) -> Object:
        return await self._mortal(super().create(resource, manifest), f"create {manifest['metadata']['name']}")

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        return await self._mortal(super().delete(resource, namespace, name, version, force=force), f"delete {name}")

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        return await self._mortal(super().replace_status(resource, obj), "replace_status")

    async def _mortal(self, request: Coroutine[Any, Any, T], call: str) -> T:
        if self.crashed or len(self.writes) != self._fatal:
            return await request
        self.crashed = True
        if self._done:
            await request
        else:
            request.close()
            self.calls.append(call)
        raise Crash(call)


class Life:
    """A study from its creation to its end; the operator starts again where it ends."""

    def __init__(self, fatal: int, *, done: bool) -> None:
        self.lab = StudyLab()
        self.client = self.lab.client = MortalClient(self.lab.cluster, fatal, done=done)
        self.lab.starts_again()
        self.ended: list[str] = []

    async def lives(self, **spec: Any) -> Mapping[str, Any]:
        await self.lab.applies(**spec)
        for _ in range(100):
            try:
                delay = await self.lab.settles()
            except Crash:
                self.lab.starts_again()
                continue
            if delay is None and not self._end_one():
                return self.lab.status()
        raise AssertionError(f"not finished: {self.lab.status()}")

    def _end_one(self) -> bool:
        """Ends the first job that runs; returns whether there was one."""
        for name in self.lab.jobs:
            job = self.lab.cluster.store.find(JOBS, "lab", name)
            if not job.get("status"):
                self.ended.append(name)
                self.lab.ends(name, mse_of(job))
                return True
        return False


SOON_GONE = TEMPLATE | {"runPolicy": {"ttlSecondsAfterFinished": 0}}


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_write_leads_to_the_same_table_and_runs_no_trial_twice(*, done: bool) -> None:
    for fatal in range(WRITES + 1):
        life = Life(fatal, done=done)

        status = await life.lives(jobTemplate=SOON_GONE, parallelism=2, final=FINAL)

        assert table(dict(status)) == FINAL_TABLE
        assert status["final"] == FINAL_STATUS
        assert sorted(life.ended) == SIX, f"write {fatal}"
        assert life.lab.jobs == ()
        assert life.client.crashed == (fatal < WRITES)
