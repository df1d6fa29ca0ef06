"""Lives of a study that are drawn: whatever happens in between, its table is the same, and no result is lost.

One kind of life has all of it: trials that report, one that is stopped, and a final training.
"""

import random
from contextlib import suppress
from typing import Any

import pytest

from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.family import STUDIES
from tests.controller.study_lab import JOBS, QTS, TEMPLATE, StudyLab, mse_of
from tests.controller.test_study import TABLE, table
from tests.controller.test_study_crashes import Crash, MortalClient
from tests.controller.test_study_search import LEARNING
from tests.controller.test_study_search import TABLE as SUGGESTED

MISHAPS = 25
NEVER = -1
"""The number of a write at which no operator ends."""

GOOD, BAD = 4, 0.5
"""How many points are good, and the learning rate of the bad one."""

EVERYTHING: dict[str, Any] = {
    "parameters": [{"name": "learning-rate", "values": [0.1, 0.2, 0.3, 0.4, BAD]}],
    "seeds": {"count": 1},
    "stopping": {"rule": "Median", "metric": "loss"},
    "final": {"seeds": {"count": 2}, "parameters": {"epochs": 100}},
}
OUTCOMES = {
    **{(rate, 0, False): {"mse": 2 * rate, "loss": rate} for rate in (0.1, 0.2, 0.3, 0.4)},
    (BAD, 0, False): {"loss": 0.9},
    **{(0.1, seed, True): {"mse": mse, "loss": mse / 2} for seed, mse in ((1, 0.21), (2, 0.22))},
}
"""What each rate and seed has reported, also in the final training."""


class WatchfulClient(MortalClient):
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
        self.client = self.lab.client = WatchfulClient(self.lab.cluster, NEVER, done=False)
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
        return await self._finishes()

    async def _finishes(self) -> dict[str, Any]:
        return await self.lab.finishes()

    async def _pass(self) -> None:
        await self.lab.passes()

    async def _pass_twice(self) -> None:
        await self.lab.passes()
        await self.lab.reconciler.reconcile(("lab", "rates"))

    async def _end_a_job(self) -> None:
        if running := self._running():
            self._goes_further(self.chance.choice(running))

    def _running(self) -> list[Object]:
        found = [self.lab.cluster.store.find(JOBS, "lab", name) for name in self.lab.jobs]
        return [each for each in found if "completionTime" not in (each.get("status") or {})]

    def _goes_further(self, job: Object) -> None:
        self.lab.ends(job["metadata"]["name"], mse_of(job))

    async def _delete_a_job(self) -> None:
        if self.lab.jobs:
            self.lab.cluster.remove(JOBS, "lab", self.chance.choice(self.lab.jobs))

    async def _suspend_or_resume(self) -> None:
        self.lab.edits(suspend=not self.lab.study()["spec"].get("suspend"))

    async def _crash(self) -> None:
        """The operator ends at one of its next writes, before or after the API server has done it."""
        soon = len(self.client.writes) + self.chance.randrange(3)
        self.client.ends_at(soon, done=self.chance.random() < 0.5)
        with suppress(Crash):
            await self.lab.passes()
        self.client.ends_at(NEVER, done=False)
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


class ReportingLife(Life):
    """A study whose trials report a loss before they end: four good ones and, after them, a bad one that is stopped."""

    async def _finishes(self) -> dict[str, Any]:
        for _ in range(100):
            await self.lab.settles()
            if not (running := self._running()):
                return self.lab.status()
            for job in running:
                self._goes_further(job)
        raise AssertionError(f"not finished: {self.lab.status()}")

    def _goes_further(self, job: Object) -> None:
        """A good trial ends after its loss was compared; what a final one reports is never compared."""
        number = int(job["metadata"]["labels"]["quantumtraining.dev/trial"])
        trials = {each["number"]: each for each in self.lab.status()["trials"]}
        is_final, is_bad = trials[number].get("final"), trials[number]["parameters"] == {"learning-rate": BAD}
        if is_bad and not is_final:
            if sum("compared" in each for each in trials.values()) == GOOD:
                self._reports(job, 0.9)
        elif "compared" in trials[number] or (is_final and job.get("status")):
            self.lab.ends(job["metadata"]["name"], mse_of(job))
        else:
            self._reports(job, 0.9 if is_final else 0.1)

    def _reports(self, job: Object, loss: float) -> None:
        status = {"phase": "Running", "progress": {"epoch": 1, "loss": loss}}
        self.lab.cluster.edit(JOBS, "lab", job["metadata"]["name"], status=status)


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_happens_the_same_trial_is_stopped_and_the_same_point_is_trained_again(seed: int) -> None:
    life = ReportingLife(seed)
    template = {**TEMPLATE, "runPolicy": {"ttlSecondsAfterFinished": 0}} if seed % 2 else TEMPLATE
    await life.lab.applies(jobTemplate=template, parallelism=3, **EVERYTHING)

    for _ in range(2 * MISHAPS):
        await life.goes_on()
    status = await life.recovers()

    assert (status["phase"], status["finished"]) == ("Complete", "5/5+2/2")
    assert {_setting(each): each["metrics"] for each in status["trials"]} == OUTCOMES
    assert [each["number"] for each in status["trials"] if each["phase"] == "Stopped"] == [5]
    assert status["final"]["parameters"] == {"learning-rate": 0.1, "epochs": 100}
    assert status["final"]["mean"] == pytest.approx(0.215)


def _setting(trial: dict[str, Any]) -> tuple[float, int, bool]:
    return trial["parameters"]["learning-rate"], trial["seed"], trial.get("final", False)


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
