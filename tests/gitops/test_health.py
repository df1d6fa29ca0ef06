"""The health check for Argo CD, run as plain Lua; test_argocd_health.py runs it in Argo CD."""

from pathlib import Path

import pytest

from tests.gitops.lua import health
from tests.gitops.settings_file import CASES, generated
from tests.gitops.states import STATES, state


@pytest.mark.parametrize("name", CASES)
def test_the_health_of_a_job_follows_from_its_conditions(name: str, tmp_path: Path) -> None:
    assert health(state(name), tmp_path) == CASES[name]


@pytest.mark.parametrize("status", [None, {}, {"phase": "Running"}])
def test_a_job_without_conditions_waits_for_the_operator(status: object, tmp_path: Path) -> None:
    job = {**state("running"), "status": status}

    assert health(job, tmp_path) == CASES["unseen"]


def test_conditions_of_other_controllers_do_not_matter(tmp_path: Path) -> None:
    job = state("running")
    theirs = {"type": "Scanned", "status": "False", "reason": "Dirty", "message": ""}
    status = {**job["status"], "conditions": [theirs, *job["status"]["conditions"]]}

    assert health({**job, "status": status}, tmp_path) == CASES["running"]


def test_every_state_has_a_case() -> None:
    assert set(CASES) == set(STATES)


@pytest.mark.parametrize("file", generated(), ids=lambda file: file.name)
def test_the_files_are_up_to_date_with_the_script_and_the_operator(file: Path) -> None:
    assert file.read_text() == generated()[file], "if the change is intended: python -m tests.gitops.settings_file"
