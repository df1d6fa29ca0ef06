"""deploy/argocd/overlay: an overlay of the example, whose jobs are named by everything that changes them."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.gitops.kustomize import names, rendered, the_job
from tests.gitops.settings_file import FOLDER


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A copy of the overlay, beside one of the example."""
    for folder in ("example", "overlay"):
        copytree(FOLDER / folder, tmp_path / folder)
    return tmp_path / "overlay"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def image(job: dict[str, Any]) -> str:
    return str(job["spec"]["template"]["spec"]["containers"][0]["image"])


def test_the_job_has_the_fields_of_the_patch_and_a_name_of_its_own(overlay: Path) -> None:
    objects = rendered(overlay)

    job, base = the_job(objects), the_job(rendered(overlay.parent / "example"))
    assert job["spec"]["circuit"] == {"qubits": 10}
    assert image(job) == image(base).replace("localhost", "registry.example.com/lab")
    assert job["metadata"]["name"] != base["metadata"]["name"]
    assert {job["metadata"]["name"]} == names(objects, "ConfigMap")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("patch.yaml", "qubits: 10", "qubits: 12"),
        ("kustomization.yaml", "/lab/", "/lab/new/"),
        ("../example/qcnn.yaml", "--epochs=25", "--epochs=50"),
    ],
    ids=["patch", "image", "base"],
)
def test_each_edit_that_changes_the_job_changes_its_name(overlay: Path, file: str, old: str, new: str) -> None:
    before = the_job(rendered(overlay))

    edit(overlay / file, old, new)

    after = the_job(rendered(overlay))
    assert after["spec"] != before["spec"]
    assert after["metadata"]["name"] != before["metadata"]["name"]


def test_an_overlay_that_adds_no_files_changes_the_job_under_the_same_name(overlay: Path) -> None:
    """Why the overlay has a generator: kustomize makes the digest of files, and not of what they become."""
    before = the_job(rendered(overlay.parent / "example"))
    text = (overlay / "kustomization.yaml").read_text()
    (overlay / "kustomization.yaml").write_text(text[: text.index("configMapGenerator")])

    after = the_job(rendered(overlay))

    assert after["spec"] != before["spec"]
    assert after["metadata"]["name"] == before["metadata"]["name"]


def test_a_base_whose_own_patch_is_listed_keeps_it_in_the_name(overlay: Path) -> None:
    """Both have a kustomization.yaml and a patch.yaml: under the same keys, those of the overlay would replace them."""
    base = overlay.parent / "example"
    patch = '[{"op": "replace", "path": "/spec/replicaSpecs/Worker/replicas", "value": 3}]'
    (base / "patch.yaml").write_text(patch)
    edit(base / "kustomization.yaml", "files: [qcnn.yaml]", "files: [qcnn.yaml, kustomization.yaml, patch.yaml]")
    with (base / "kustomization.yaml").open("a") as file:
        file.write("patches: [{path: patch.yaml, target: {kind: QuantumTrainingJob}}]\n")
    before = the_job(rendered(overlay))

    edit(base / "patch.yaml", '"value": 3', '"value": 4')

    after = the_job(rendered(overlay))
    assert after["spec"]["replicaSpecs"]["Worker"]["replicas"] == 4
    assert after["metadata"]["name"] != before["metadata"]["name"]
