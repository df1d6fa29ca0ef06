"""A study on a cluster whose points are suggested one after the other."""

import asyncio
from datetime import timedelta
from typing import Any

from qtj_operator.api.study import StudySpec
from qtj_operator.controller.suggest import NoSuggestion
from tests.controller.lab import ENOUGH
from tests.controller.study_lab import QTS, StudyLab, study_object
from tests.controller.test_study import FOUR, table
from tests.controller.test_study_crashes import Life
from tests.controller.test_study_troubles import told

LEARNING: dict[str, Any] = {
    "parameters": [{"name": "learning-rate", "range": {"min": 0.001, "max": 1}}],
    "search": {"algorithm": "TPE"},
    "maxTrials": 4,
    "parallelism": 2,
}
TABLE = {(0.01, 0): 0.02, (0.01, 1): 0.03, (0.02, 0): 0.04, (0.02, 1): 0.05}
WRITES = 9


async def test_points_are_suggested_as_trials_end_and_recorded_before_their_jobs_exist() -> None:
    lab = await StudyLab.applied(**LEARNING)

    await lab.passes()
    assert [each["parameters"] for each in lab.status()["trials"]] == [{"learning-rate": 0.01}] * 2
    assert (lab.jobs, lab.status()["finished"]) == ((), "0/4")

    status = await lab.finishes()
    assert (status["phase"], table(status)) == ("Complete", TABLE)
    assert (lab.created, lab.asked) == (FOUR, [1, 1])


async def test_a_crash_at_any_write_leads_to_the_same_points_and_runs_no_trial_twice() -> None:
    for done in (False, True):
        for fatal in range(WRITES):
            life = Life(fatal, done=done)

            status = await life.lives(**LEARNING)

            assert table(dict(status)) == TABLE, f"write {fatal}"
            assert sorted(life.ended) == FOUR


async def test_a_sampler_that_is_missing_is_told_of_and_asked_again() -> None:
    lab = StudyLab()

    async def missing(*_: object) -> Any:
        raise NoSuggestion("search.algorithm TPE needs optuna")

    await lab.applies(**LEARNING)
    lab.hear()
    object.__setattr__(lab.reconciler, "suggest", missing)
    delay = await lab.settles()

    assert delay == timedelta(seconds=30)
    running = lab.condition("Running")
    assert (running["reason"], running["message"]) == ("SearchRefused", "search.algorithm TPE needs optuna")
    assert told(lab) == [("Warning", "SearchRefused")]

    lab.starts_again()
    assert table(await lab.finishes()) == TABLE


async def test_studies_of_one_namespace_do_not_keep_the_sampler_from_others() -> None:
    lab, answers = StudyLab(), asyncio.Event()
    greedy = {**LEARNING, "parallelism": 400, "maxTrials": 400}
    for name in ("rates", "again", "more"):
        await lab.cluster.create(QTS, study_object(name=name, **greedy))
    await lab.cluster.create(QTS, study_object(name="rates", namespace="other", **{**LEARNING, "maxTrials": 2}))
    lab.hear()
    turns: list[int] = []

    async def slow(spec: StudySpec, trials: object, count: int) -> Any:
        turns.append(spec.limit)
        await answers.wait()
        return await lab.suggest(spec, [], count)

    object.__setattr__(lab.reconciler, "suggest", slow)
    async with asyncio.TaskGroup() as tasks:
        for key in (("lab", "rates"), ("lab", "again"), ("lab", "more"), ("other", "rates")):
            tasks.create_task(lab.reconciler.reconcile(key))
        for _ in range(ENOUGH):
            await asyncio.sleep(0)
        assert (turns, lab.reconciler.sampler.waiting) == ([400], 3), "one study asks at a time"
        answers.set()

    assert turns in ([400, 400, 2, 400], [400, 2, 400, 400])
