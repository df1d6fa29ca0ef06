"""Lives of a study that are drawn: whatever happens in between, its table is the same, and no result is lost."""

import random
from typing import Any

import pytest

from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.family import STUDIES
from tests.controller.memory import RecordingClient
from tests.controller.study_lab import JOBS, QTS, TEMPLATE, StudyLab, mse_of
from tests.controller.test_study import TABLE, table
from tests.controller.test_study_search import LEARNING
from tests.controller.test_study_search import TABLE as SUGGESTED

MISHAPS = 25


class WatchfulClient(RecordingClient):
    """A client that sees to it that no job is created for a trial whose result is known, or that is not recorded."""

    async def create(self, resource: Resource, manifest: Object) -> Object:
        if resource is not JOBS:
            return await super().create(resource, manifest)
        study = self.inner.store.find(QTS, "lab", "rates")
        number = int(manifest["metadata"]["labels"]["quantumtraining.dev/trial"])
        trials = {each["number"]: each["phase"] for each in study["status"]["trials"]}
        assert trials.get(number) == "Running", f"trial {number} is {trials.get(number)}"
        return await super().create(resource, manifest)


class Life:
    """A study, and what may happen to it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.lab = StudyLab()
        self.lab.client = WatchfulClient(self.lab.cluster)
        self.lab.starts_again()

    async def goes_on(self) -> None:
        """One thing happens."""
        await self.chance.choice(
            (
                *(self._pass, self._pass, self._pass_twice, self._end_a_job, self._delete_a_job, self._crash),
                *(self._lose, self._suspend_or_resume),
            )
        )()

    async def recovers(self) -> dict[str, Any]:
        self._hear_all()
        self.lab.edits(suspend=False)
        await self.lab.settles()
        running = [self.lab.cluster.store.find(JOBS, "lab", name) for name in self.lab.jobs]
        assert [each for each in running if each["spec"].get("suspend") and not each.get("status")] == []
        return await self.lab.finishes()

    async def _pass(self) -> None:
        await self.lab.passes()

    async def _pass_twice(self) -> None:
        await self.lab.passes()
        await self.lab.reconciler.reconcile(("lab", "rates"))

    async def _end_a_job(self) -> None:
        found = [self.lab.cluster.store.find(JOBS, "lab", name) for name in self.lab.jobs]
        if running := [each for each in found if not each.get("status")]:
            job = self.chance.choice(running)
            self.lab.ends(job["metadata"]["name"], mse_of(job))

    async def _delete_a_job(self) -> None:
        if self.lab.jobs:
            self.lab.cluster.remove(JOBS, "lab", self.chance.choice(self.lab.jobs))

    async def _suspend_or_resume(self) -> None:
        self.lab.edits(suspend=not self.lab.study()["spec"].get("suspend"))

    async def _crash(self) -> None:
        self.lab.starts_again()

    async def _lose(self) -> None:
        """The watch of one resource loses the events since the last pass; its reflector lists again later."""
        self.lab.stalled = {self.chance.choice(list(STUDIES.cached))}
        self.lab.hear()
        self._hear_all()

    def _hear_all(self) -> None:
        store, self.lab.stalled = self.lab.cluster.store, set()
        for resource in STUDIES.cached:
            objects = [STUDIES.trim(resource, each) for each in store.select(resource, None, {})]
            self.lab.handler.listed(resource, objects, str(store.version))


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happens_the_table_is_the_same_and_no_trial_with_a_result_runs_again(seed: int) -> None:
    life = Life(seed)
    template = {**TEMPLATE, "runPolicy": {"ttlSecondsAfterFinished": 0}} if seed % 2 else TEMPLATE
    await life.lab.applies(jobTemplate=template, parallelism=2)

    for _ in range(MISHAPS):
        await life.goes_on()
    status = await life.recovers()

    assert (status["phase"], table(status)) == ("Complete", TABLE)


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_happens_the_same_points_are_suggested_and_none_is_repeated(seed: int) -> None:
    life = Life(seed)
    await life.lab.applies(**LEARNING)

    for _ in range(MISHAPS):
        await life.goes_on()
    status = await life.recovers()

    assert (status["phase"], table(status)) == ("Complete", SUGGESTED)
