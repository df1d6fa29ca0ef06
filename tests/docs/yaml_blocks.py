"""What a YAML block of the documentation is, and what is wrong with it: the product checks jobs and parts of jobs."""

import copy
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import models
from pydantic.alias_generators import to_camel

from qtj.checks.job import check_file
from qtj.checks.study import study_of
from qtj.create.convert import convert_file
from qtj.files.documents import read_documents, read_file
from qtj.rules.models import Models
from qtj.terminal.errors import InputError
from qtj_operator.api.platform_settings import PlatformSettings, SettingsError
from qtj_operator.api.spec import Spec
from tools.cluster.tools import kubectl
from tools.docs.files import ROOT
from tools.reference.models import fields_of

Json = dict[str, Any]

KINDS_OF_OTHERS = {
    "Application": "a kind of Argo CD, whose CRD is not here before `make test-long`",
}
"""Kinds without a schema here, each with the reason: they are only parsed."""

_KUSTOMIZE = {"resources", "components", "configMapGenerator", "images", "patches", "namespace"}


def mistakes(text: str, folder: Path) -> list[str]:
    """Returns what is wrong with a block. A part of an object is put where it belongs; an unknown part is a mistake."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as problem:
        return [f"this is no YAML: {problem}"]
    return [mistake for document in documents for mistake in _of_document(document, folder)]


def _of_document(document: Any, folder: Path) -> Iterator[str]:
    if not isinstance(document, dict):
        yield "this is neither an object nor a part of one"
    elif "kind" in document:
        yield from _of_object(document, folder)
    else:
        check = next((check for fields, check in PARTS if set(document) <= fields), None)
        yield from check(document, folder) if check else [f"no object is known that has the fields {sorted(document)}"]


def _of_object(document: Json, folder: Path) -> Iterator[str]:
    kind = document["kind"]
    if kind == "QuantumTrainingJob":
        yield from _of_job(document, folder)
    elif kind == "QuantumTrainingStudy":
        yield from _of_study(document, folder)
    elif kind == "TFJob":
        yield from _of_tfjob(document, folder)
    elif hasattr(models, model := f"V1{kind}"):
        yield from (f"{path}: {what}" for path, what in Models(fields_of([model])).mistakes(document, model))
    elif kind not in KINDS_OF_OTHERS:
        yield f"{kind} is no kind that tests/docs/yaml_blocks.py knows"


def _of_job(job: Json, folder: Path) -> Iterator[str]:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    try:
        check_file(read_file(path))
    except InputError as problem:
        yield from str(problem).splitlines()


def _of_study(study: Json, folder: Path) -> Iterator[str]:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study))
    try:
        study_of(read_documents(path))
    except InputError as problem:
        yield from str(problem).splitlines()


def _of_tfjob(job: Json, folder: Path) -> Iterator[str]:
    (folder / "tfjob.yaml").write_text(yaml.safe_dump(job))
    (converted,) = convert_file(folder / "tfjob.yaml", "gs://bucket/path")
    yield from _of_job(converted.manifest, folder)


def _of_spec(part: Json, folder: Path) -> Iterator[str]:
    job: Json = yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text())
    yield from _of_job({**job, "spec": _merged(job["spec"], part)}, folder)


def _of_pod(part: Json, folder: Path) -> Iterator[str]:
    yield from _of_spec({"template": {"spec": part}}, folder)


def _of_container(part: Json, folder: Path) -> Iterator[str]:
    yield from _of_pod({"containers": [{"name": "trainer", **part}]}, folder)


def _of_metadata(part: Json, folder: Path) -> Iterator[str]:
    yield from _of_job(_merged(yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text()), part), folder)


def _of_kustomization(part: Json, folder: Path) -> Iterator[str]:
    """Renders it beside the folders of this repository, if kubectl is built."""
    if not Path(kubectl()).exists():
        return
    for name in ("crds", "deploy"):
        if not (folder / name).exists():
            subprocess.run(["cp", "-r", str(ROOT / name), str(folder / name)], check=True)
    files = [name for each in part.get("configMapGenerator", ()) for name in each["files"]]
    for name in files:
        (folder / name).touch()
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(part))
    ended = subprocess.run([kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    if ended.returncode:
        yield ended.stderr.strip()


def _of_values(part: Json, folder: Path) -> Iterator[str]:
    yield from _of_settings(part["jobSettings"], folder)


def _of_settings(part: Json, _: Path) -> Iterator[str]:
    try:
        PlatformSettings.parse(part)
    except SettingsError as problem:
        yield str(problem)


def _is_parsed(_: Json, __: Path) -> Iterator[str]:
    yield from ()


def _fields(model: str) -> set[str]:
    return set(getattr(models, model).attribute_map.values())


PARTS: tuple[tuple[set[str], Callable[[Json, Path], Iterator[str]]], ...] = (
    ({to_camel(name) for name in Spec.model_fields}, _of_spec),
    ({"metadata", "spec"}, _of_metadata),
    (_KUSTOMIZE, _of_kustomization),
    ({"jobSettings"}, _of_values),
    ({"defaults", "ceilings", "namespaces"}, _of_settings),
    ({"scrape_configs"}, _is_parsed),  # Prometheus's, which is not here
    (_fields("V1PodSpec"), _of_pod),
    (_fields("V1Container"), _of_container),
)
"""Parts of objects by their fields, each with its check."""


def _merged(whole: Any, part: Any) -> Any:
    """Returns an object with a part of it put over it; items of lists are the same if they have the same name."""
    if isinstance(whole, Mapping) and isinstance(part, Mapping):
        below = {name: _merged(whole[name], value) if name in whole else value for name, value in part.items()}
        return {**whole, **below}
    if isinstance(whole, list) and isinstance(part, list) and all(isinstance(each, dict) for each in (*whole, *part)):
        named = {each.get("name"): each for each in copy.deepcopy(whole)}
        return [_merged(named.get(each.get("name"), {}), each) for each in part]
    return part
