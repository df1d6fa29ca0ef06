"""deploy/argocd/example/name-by-content.yaml: every field in which a job names a generated ConfigMap or Secret."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gitops.kustomize import names, rendered, the_job
from tools.gitops.references import FILE, KINDS, PROGRAM, TEMPLATES, generated, references

LISTS = {"containers", "initContainers", "env", "envFrom", "volumes", "sources", "imagePullSecrets"}
PLAIN = "program"
"""The name in the files, before kustomize adds a digest; of ConfigMaps and of Secrets."""
KUSTOMIZATION = {
    "resources": ["job.yaml"],
    "configMapGenerator": [{"name": PLAIN, "files": ["train.py"]}],
    "secretGenerator": [{"name": PLAIN, "files": ["train.py"]}],
    "configurations": [FILE.name],
}


def put(into: dict[str, Any], path: str, value: str) -> None:
    """Adds a field to an object; in a list it is that of a new item."""
    first, _, rest = path.partition("/")
    if not rest:
        into[first] = value
    elif first in LISTS:
        item: dict[str, Any] = {"name": f"n{len(into.setdefault(first, []))}"}
        into[first].append(item)
        put(item, rest, value)
    else:
        put(into.setdefault(first, {}), rest, value)


def values(of: Any, path: str) -> Iterator[str]:
    """Yields what an object has in a field, in all items of the lists on the way."""
    first, _, rest = path.partition("/")
    for each in of if isinstance(of, list) else [of]:
        if first in each and rest:
            yield from values(each[first], rest)
        elif first in each:
            yield each[first]


def job() -> dict[str, Any]:
    """A job that names the program in every field that there is, in each of its pod templates."""
    whole: dict[str, Any] = {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingJob",
        "metadata": {"name": "qcnn"},
    }
    for template in TEMPLATES:
        for _, path in references():
            put(whole, f"{template}/spec/{path}", PLAIN)
    return whole


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_reference_is_left_without_a_digest(template: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job()))
    (tmp_path / "train.py").write_text("print('trains')\n")
    (tmp_path / FILE.name).write_text(FILE.read_text())
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(KUSTOMIZATION))

    objects = rendered(tmp_path)

    found = {(kind, path): set(values(the_job(objects), f"{template}/spec/{path}")) for kind, path in references()}
    assert found == {(kind, path): names(objects, kind) for kind, path in references()}


def test_a_program_that_changes_makes_another_job_with_another_config_map(tmp_path: Path) -> None:
    job = {"apiVersion": "quantumtraining.dev/v1beta1", "kind": "QuantumTrainingJob", "metadata": {"name": "iris"}}
    (tmp_path / "iris.yaml").write_text(yaml.safe_dump(job | {"spec": {"program": {"configMap": "iris"}}}))
    (tmp_path / FILE.name).write_text(FILE.read_text())
    generator = {"name": "iris", "files": ["iris.yaml", "train.py"], "options": {"immutable": True}}
    kustomization = {"resources": ["iris.yaml"], "configMapGenerator": [generator], "configurations": [FILE.name]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = []
    for text in ("print(1)\n", "print(2)\n"):
        (tmp_path / "train.py").write_text(text)
        objects = rendered(tmp_path)
        (config_map,) = (each for each in objects if each["kind"] == "ConfigMap")
        name = config_map["metadata"]["name"]
        assert (config_map["immutable"], config_map["data"]["train.py"]) == (True, text)
        assert {the_job(objects)["metadata"]["name"], *values(the_job(objects), PROGRAM)} == {name}
        found.append(name)

    assert found[0] != found[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "field",
    [
        "containers/env/valueFrom/{0}KeyRef/name",
        "containers/envFrom/{0}Ref/name",
        "initContainers/env/valueFrom/{0}KeyRef/name",
        "initContainers/envFrom/{0}Ref/name",
        "volumes/projected/sources/{0}/name",
    ],
)
def test_the_fields_that_people_use_are_found(kind: str, field: str) -> None:
    assert (kind, field.format(kind[0].lower() + kind[1:])) in set(references())


def test_a_volume_names_a_secret_in_another_way_than_a_config_map() -> None:
    assert {("ConfigMap", "volumes/configMap/name"), ("Secret", "volumes/secret/secretName")} <= set(references())


def test_the_file_is_up_to_date() -> None:
    assert FILE.read_text() == generated(), "run `make name-by-content`"
