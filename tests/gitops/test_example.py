"""deploy/argocd/example: jobs that are named by their content, rendered by the kustomize that kubectl contains."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gitops.kustomize import names, rendered, the_job
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


def test_the_name_of_a_job_ends_with_a_digest_of_its_file() -> None:
    objects = rendered(FOLDER / "example")

    job = the_job(objects)
    assert job["metadata"]["name"].startswith("qcnn-")
    assert {job["metadata"]["name"]} == names(objects, "ConfigMap")


def test_nothing_but_the_name_of_the_job_differs_from_its_file() -> None:
    job = the_job(rendered(FOLDER / "example"))

    written = yaml.safe_load((FOLDER / "example" / "qcnn.yaml").read_text())
    assert job["spec"] == written["spec"]


def test_the_documentation_shows_the_name_that_kubectl_prints() -> None:
    job = the_job(rendered(FOLDER / "example"))

    assert f"  name: {job['metadata']['name']}\n" in (FOLDER.parents[1] / "docs" / "gitops.md").read_text()


def test_an_edit_of_the_program_makes_a_new_job_that_uses_the_new_program(example: Path) -> None:
    before = the_job(rendered(example))
    (example / "train.py").write_text("print('trains longer')\n")

    objects = rendered(example)
    after = the_job(objects)

    assert before["metadata"]["name"] != after["metadata"]["name"]
    assert programs(before).isdisjoint(programs(after))
    assert {after["metadata"]["name"], *programs(after)} == names(objects, "ConfigMap")


def programs(job: dict[str, Any]) -> set[str]:
    """Returns the names with which the job refers to its program."""
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return {
        spec["volumes"][0]["configMap"]["name"],
        container["envFrom"][1]["configMapRef"]["name"],
        container["env"][0]["valueFrom"]["configMapKeyRef"]["name"],
    }
