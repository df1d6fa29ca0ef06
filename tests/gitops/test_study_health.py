"""What Argo CD and kstatus say of a study in each state of its life."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.controller.study_lab import StudyLab
from tests.gitops.lua import health
from tests.gitops.test_kstatus import verdicts


async def states() -> Mapping[str, dict[str, Any]]:
    """A study as the API server has it, in each of its states."""
    lab = await StudyLab.applied(parallelism=1, failurePolicy={"maxFailedTrials": 0})
    found = {"unseen": {**lab.study(), "status": {"observedGeneration": -1}}}
    await lab.settles()
    found["running"] = dict(lab.study())
    template = lab.study()["spec"]["jobTemplate"]
    lab.edits(jobTemplate={**template, "strategy": "None"})
    found["stale"] = dict(lab.study())
    await lab.settles()
    found["edited"] = dict(lab.study())
    lab.edits(jobTemplate=template, suspend=True)
    await lab.settles()
    found["suspended"] = dict(lab.study())
    lab.edits(suspend=False)
    await lab.finishes()
    found["complete"] = dict(lab.study())
    lab.edits(seeds={"count": 3})
    await lab.settles()
    lab.ends("rates-5")
    await lab.settles()
    found["failed"] = dict(lab.study())
    return found


EXPECTED = {
    "unseen": ("Progressing", "The operator has not seen the study yet", "InProgress"),
    "running": ("Progressing", "TrialsRunning: 0 of 4 trials have finished", "InProgress"),
    "stale": ("Progressing", "The operator has not seen the last change yet", "InProgress"),
    "edited": ("Degraded", "ImmutableFieldChanged: jobTemplate was changed", "Failed"),
    "suspended": ("Suspended", "Suspended: spec.suspend is true", "Current"),
    "complete": ("Healthy", "TrialsDone: 4 of 4 trials have finished", "Current"),
    "failed": ("Degraded", "TooManyFailed: 1 trials failed", "Failed"),
}


@pytest.mark.parametrize("name", EXPECTED)
async def test_the_health_of_a_study_follows_from_its_conditions(name: str, tmp_path: Path) -> None:
    study = (await states())[name]
    status, message, verdict = EXPECTED[name]

    found = health(study, tmp_path)

    assert found["status"] == status
    assert found["message"].startswith(message)
    assert [said["status"] for said in verdicts(study)] == [verdict]
