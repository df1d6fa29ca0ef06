"""deploy/argocd/example: jobs that are named by their content, rendered by the kustomize that kubectl contains."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.tools import KUBERNETES
from tests.gitops.programs import find_program
from tests.gitops.settings_file import FOLDER

PROGRAM = "    files: [qcnn.yaml, train.py]\n  - name: program\n    files: [train.py]\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example, in which the job has a program of its own in a ConfigMap."""
    for path in (FOLDER / "example").iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    kustomization = (tmp_path / "kustomization.yaml").read_text()
    files = next(line for line in kustomization.splitlines(keepends=True) if line.lstrip().startswith("files:"))
    (tmp_path / "kustomization.yaml").write_text(kustomization.replace(files, PROGRAM))
    (tmp_path / "train.py").write_text("print('trains')\n")
    job = yaml.safe_load((tmp_path / "qcnn.yaml").read_text())
    spec = job["spec"]["template"]["spec"]
    spec["volumes"] = [{"name": "program", "configMap": {"name": "program"}}]
    spec["containers"][0]["envFrom"].append({"configMapRef": {"name": "program"}})
    spec["containers"][0]["env"] = [
        {"name": "SOURCE", "valueFrom": {"configMapKeyRef": {"name": "program", "key": "train.py"}}}
    ]
    (tmp_path / "qcnn.yaml").write_text(yaml.safe_dump(job))
    return tmp_path


def rendered(folder: Path) -> tuple[dict[str, Any], set[str]]:
    """Returns the job and the names of all ConfigMaps."""
    argv = (find_program(KUBERNETES, "kubectl"), "kustomize", str(folder))
    answer = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    objects = list(yaml.safe_load_all(answer.stdout))
    (job,) = (each for each in objects if each["kind"] == "QuantumTrainingJob")
    return job, {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"}


def test_the_name_of_a_job_ends_with_a_digest_of_its_file() -> None:
    job, config_maps = rendered(FOLDER / "example")

    assert job["metadata"]["name"].startswith("qcnn-")
    assert {job["metadata"]["name"]} == config_maps


def test_nothing_but_the_name_of_the_job_differs_from_its_file() -> None:
    job, _ = rendered(FOLDER / "example")

    written = yaml.safe_load((FOLDER / "example" / "qcnn.yaml").read_text())
    assert job["spec"] == written["spec"]


def test_the_documentation_shows_the_name_that_kubectl_prints() -> None:
    job, _ = rendered(FOLDER / "example")

    assert f"  name: {job['metadata']['name']}\n" in (FOLDER.parents[1] / "docs" / "gitops.md").read_text()


def test_an_edit_of_the_program_makes_a_new_job_that_uses_the_new_program(example: Path) -> None:
    before, _ = rendered(example)
    (example / "train.py").write_text("print('trains longer')\n")

    after, config_maps = rendered(example)

    assert before["metadata"]["name"] != after["metadata"]["name"]
    assert programs(before).isdisjoint(programs(after))
    assert {after["metadata"]["name"], *programs(after)} == config_maps


def programs(job: dict[str, Any]) -> set[str]:
    """Returns the names with which the job refers to its program."""
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return {
        spec["volumes"][0]["configMap"]["name"],
        container["envFrom"][1]["configMapRef"]["name"],
        container["env"][0]["valueFrom"]["configMapKeyRef"]["name"],
    }
