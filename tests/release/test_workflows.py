"""What the hosting platform reads of this repository: nothing else would tell that it is wrong before it is needed."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.missing import skip_or_fail
from tools.cluster.tools import actionlint
from tools.release.version import ROOT
from tools.release.workflows import findings
from tools.suite.stages import TEST

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yaml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yaml"))
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
SPEAKING = [*WORKFLOWS, ROOT / ".pre-commit-config.yaml", ROOT / "CONTRIBUTING.md", GITHUB / "PULL_REQUEST_TEMPLATE.md"]


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(path.read_text(), yaml.BaseLoader)  # `on` is a word here
    return found


@pytest.fixture(scope="module")
def built() -> None:
    if not Path(actionlint()).exists():
        skip_or_fail("actionlint is not built: `make check-workflows`")


@pytest.mark.usefixtures("built")
def test_actionlint_finds_nothing_in_the_workflows() -> None:
    assert findings() == ""


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("needs: tag", "needs: tga", 'needs job "tga" which does not exist'),
        ("subject-path:", "subject-paths:", 'input "subject-paths" is not defined'),
        ("github.token", "github.tokn", 'property "tokn" is not defined'),
    ],
)
def test_actionlint_finds_a_mistake(tmp_path: Path, right: str, wrong: str, sentence: str) -> None:
    (tmp_path / "release.yaml").write_text((GITHUB / "workflows/release.yaml").read_text().replace(right, wrong))

    assert sentence in findings(tmp_path / "release.yaml")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_only_what_it_says(path: Path) -> None:
    workflow = read(path)

    assert workflow.get("permissions", {"contents": "read"}) == {"contents": "read"}
    assert "permissions" in workflow or list(workflow["on"]) == ["workflow_call"], "its caller's permissions hold"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_pinned_to_a_major_version_or_a_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text())

    assert used
    assert [each for each in used if not re.search(r"^\./|@v\d+$|@[0-9a-f]{40}$", each)] == []


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: path.name)
def test_every_make_target_that_is_named_exists(path: Path) -> None:
    named = re.findall(r"(?:`|run: |entry: )make ([a-z0-9 -]+)", path.read_text())

    assert {target for words in named for target in words.split()} - TARGETS == set()


def test_every_make_target_of_the_test_matrix_exists() -> None:
    matrix = read(GITHUB / "workflows/ci.yaml")["jobs"]["test"]["strategy"]["matrix"]["include"]

    assert {target for entry in matrix for target in entry["targets"].split()} - TARGETS == set()


def test_the_matrix_has_all_of_make_test_but_the_cluster() -> None:
    matrix = read(GITHUB / "workflows/ci.yaml")["jobs"]["test"]["strategy"]["matrix"]["include"]
    tested = {target for entry in matrix for target in entry["targets"].split()}

    assert tested - {"test-core"} == {stage.target for stage in TEST} - {"test-cluster"}


def test_the_folders_of_dependency_updates_exist() -> None:
    updates = read(GITHUB / "dependabot.yml")["updates"]
    folders = {each for update in updates for each in update.get("directories", [])}

    assert folders
    assert [folder for folder in folders if not (ROOT / folder.strip("/") / "go.mod").is_file()] == []
    assert {update["package-ecosystem"] for update in updates} == {"github-actions", "docker", "gomod"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_has_what_the_platform_wants(path: Path) -> None:
    form = read(path)
    ids = [part["id"] for part in form["body"]]

    assert form["name"]
    assert form["description"]
    assert len(ids) == len(set(ids))
    assert {part["type"] for part in form["body"]} <= {"textarea", "input", "dropdown", "checkboxes", "markdown"}
    assert all(part["attributes"]["label"] for part in form["body"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_that_may_write_to_the_repository_runs_no_package_of_others(path: Path) -> None:
    """To resolve or install packages may build them, and what builds them runs what it likes."""
    jobs = read(path)["jobs"].values()

    writing = [job for job in jobs if (job.get("permissions") or {}).get("contents") == "write"]
    commands = [step["run"] for job in writing for step in job["steps"] if "run" in step]
    assert [each for each in commands if re.search(r"^\s*(make|pip|uv|python3?|npm|go)\s", each, re.MULTILINE)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_nothing_of_ours_is_taken_from_an_index_and_all_else_by_hash(path: Path) -> None:
    pins = re.findall(r"^([a-z0-9][\w.-]*)==[^\n]*\\\n    --hash=sha256:[0-9a-f]{64}", path.read_text(), re.MULTILINE)
    named = re.findall(r"^([A-Za-z0-9][\w.-]*)", path.read_text(), re.MULTILINE)

    assert named == pins != []
    assert [name for name in pins if name.startswith("quantumtrainingjob")] == []
