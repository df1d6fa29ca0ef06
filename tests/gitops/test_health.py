"""The health check for Argo CD, run by Argo CD."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.tools import ARGOCD
from tests.gitops.programs import find_program
from tests.gitops.settings_file import FOLDER, generated
from tests.gitops.states import STATES, state

CASES: dict[str, dict[str, str]] = {
    Path(case["inputPath"]).stem: case["healthStatus"]
    for case in yaml.safe_load((FOLDER / "health_test.yaml").read_text())["tests"]
}


def health(job: dict[str, Any], folder: Path) -> dict[str, str]:
    """What Argo CD says of an object, once argocd-cm has our script."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    words = ("admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", FOLDER / "argocd-cm.yaml")
    argv = (find_program(ARGOCD, "argocd"), *words)
    answer = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env={"HOME": str(folder)})
    status, message = answer.stdout.strip().split("\n")
    return {"status": status.removeprefix("STATUS: "), "message": message.removeprefix("MESSAGE: ")}


@pytest.mark.parametrize("name", [name for name in CASES if name != "deleted"])
def test_the_health_of_a_job_follows_from_its_conditions(name: str, tmp_path: Path) -> None:
    assert health(state(name), tmp_path) == CASES[name]


def test_a_job_that_is_being_deleted_is_progressing(tmp_path: Path) -> None:
    """Argo CD asks no script then."""
    assert health(state("deleted"), tmp_path)["status"] == CASES["deleted"]["status"]


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
def test_the_files_are_what_the_script_and_the_operator_say(file: Path) -> None:
    assert file.read_text() == generated()[file], "if that is as it should be: python -m tests.gitops.settings_file"
