"""The CustomResourceDefinition, as it is checked in."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from qtj.commands.main import app
from qtj_operator.api.crd import crd, crd_yaml

CRD_FILE = Path(__file__).parents[2] / "crds" / "quantumtrainingjobs.quantumtraining.dev.yaml"
OTHER, VERSION = crd()["spec"]["versions"]
SCHEMA: dict[str, Any] = VERSION["schema"]["openAPIV3Schema"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside the schema, with the path of its field."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from nodes(schema[keyword], f"{path}[]")


def at(path: str) -> dict[str, Any]:
    return dict(nodes(SCHEMA))[path]


def check(file: Path) -> tuple[int, str]:
    answer = CliRunner().invoke(app, ["crd", "--check", str(file)])
    return answer.exit_code, answer.stderr


def test_the_file_in_crds_is_what_the_models_generate() -> None:
    assert CRD_FILE.read_text() == crd_yaml(), "run `make crds`"


def test_both_versions_are_served_and_the_one_that_every_release_knows_is_stored() -> None:
    facts = [(each["name"], each["served"], each["storage"]) for each in (OTHER, VERSION)]
    assert facts == [("v1alpha1", True, True), ("v1beta1", True, False)]
    assert {**OTHER, "name": "v1beta1", "storage": False} == VERSION


def test_the_check_passes_on_the_file_as_generated() -> None:
    assert check(CRD_FILE) == (0, "")


def test_the_check_fails_with_one_sentence_when_one_byte_differs(tmp_path: Path) -> None:
    edited = tmp_path / "crd.yaml"
    edited.write_text(CRD_FILE.read_text().replace("maximum: 40", "maximum: 41"))

    code, output = check(edited)

    assert code == 1
    assert output == f"qtj: {edited} differs from the models in operator/qtj_operator/api: run `make crds`\n"


def test_the_check_fails_when_there_is_no_file(tmp_path: Path) -> None:
    code, output = check(tmp_path / "nowhere.yaml")

    assert code == 1
    assert output.count("\n") == 1


def test_the_crd_can_be_printed_and_written(tmp_path: Path) -> None:
    written = tmp_path / "crd.yaml"

    printed = CliRunner().invoke(app, ["crd"])
    CliRunner().invoke(app, ["crd", "--output", str(written)])

    assert printed.stdout == written.read_text() == CRD_FILE.read_text()


def test_the_yaml_says_what_the_manifest_says() -> None:
    assert yaml.safe_load(CRD_FILE.read_text()) == crd()


def test_every_field_is_described() -> None:
    silent = [
        f"{path}.{name}"
        for path, node in nodes(SCHEMA)
        for name, field in node.get("properties", {}).items()
        if not field.get("description")
    ]

    assert silent == [".metadata"], "only Kubernetes may describe metadata"


def test_every_description_is_a_sentence_or_a_name() -> None:
    descriptions = {path: node["description"] for path, node in nodes(SCHEMA) if "description" in node}

    assert [path for path, text in descriptions.items() if "\n" in text or text != text.strip()] == []
    assert [
        path for path in descriptions if path.startswith((".spec", ".status")) and not descriptions[path].endswith(".")
    ] == []


def test_nothing_that_users_write_has_a_default() -> None:
    assert [path for path, node in nodes(SCHEMA) if "default" in node] == [".status"]


def test_the_schema_is_structural() -> None:
    broken = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title"}

    assert [path for path, node in nodes(SCHEMA) if broken & node.keys()] == []
    assert [path for path, node in nodes(SCHEMA) if not {"type", "x-kubernetes-int-or-string"} & node.keys()] == []


def test_only_pod_templates_take_fields_that_the_schema_does_not_know() -> None:
    open_ = {path for path, node in nodes(SCHEMA) if node.get("x-kubernetes-preserve-unknown-fields")}

    assert all(".template" in path for path in open_)
    assert {".spec.template", ".spec.template.spec", ".spec.template.spec.containers[]"} <= open_


def test_the_crd_stays_small() -> None:
    copied = json.dumps(crd(), separators=(",", ":"))

    assert len(copied) < 128 * 1024, "kubectl apply stores this copy in an annotation of at most 256 KiB"


def test_kubectl_get_shows_the_progress_at_a_glance() -> None:
    columns = {column["name"]: column["jsonPath"] for column in VERSION["additionalPrinterColumns"]}
    narrow = [column["name"] for column in VERSION["additionalPrinterColumns"] if not column.get("priority")]

    assert narrow == ["Phase", "Reason", "Ready", "Epoch", "Loss", "Metric", "Restarts", "Age"]
    assert list(columns)[len(narrow) :] == ["Strategy", "Inference"]


def test_jobs_can_be_selected_by_their_phase() -> None:
    assert [field["jsonPath"] for field in VERSION["selectableFields"]] == [".status.phase"]


def test_every_column_shows_a_field_that_exists() -> None:
    fields = {path for path, _ in nodes(SCHEMA)} | {".metadata.creationTimestamp"}

    assert [c["jsonPath"] for c in VERSION["additionalPrinterColumns"] if c["jsonPath"] not in fields] == []


def test_the_resource_has_the_names_that_people_type() -> None:
    names = crd()["spec"]["names"]

    assert (names["shortNames"], names["categories"]) == (["qtj"], ["training"])
    assert crd()["metadata"]["name"] == f"{names['plural']}.quantumtraining.dev"


def test_the_status_is_a_subresource_so_that_the_operator_cannot_touch_the_spec() -> None:
    assert VERSION["subresources"]["status"] == {}


def test_the_scale_subresource_is_that_of_the_workers() -> None:
    paths = VERSION["subresources"]["scale"]

    assert at(paths["specReplicasPath"])["description"].startswith("How many replicas of this role.")
    assert paths["statusReplicasPath"] == ".status.replicas.Worker.ready"
    assert at(".status.replicas[]")["properties"]["ready"]["type"] == "integer"


@pytest.mark.parametrize(
    ("path", "keyword", "value"),
    [
        (".spec.replicaSpecs.Worker.replicas", "minimum", 1),
        (".spec.replicaSpecs.Worker.replicas", "maximum", 1_000),
        (".spec.circuit.qubits", "minimum", 4),
        (".spec.circuit.qubits", "maximum", 40),
        (".spec.profiler.port", "minimum", 1024),
        (".spec.profiler.port", "maximum", 65535),
        (".spec.runPolicy.backoffLimit", "maximum", 1000),
        (".spec.inference.backoffLimit", "maximum", 100),
        (".spec.artifacts.uri", "maxLength", 1024),
        (".spec.artifacts.weights", "minLength", 1),
        (".spec.artifacts.weights", "maxLength", 1024),
        (".spec.inference.activeDeadlineSeconds", "minimum", 1),
        (".spec.inference.template.spec.containers", "minItems", 1),
        (".spec.template.spec.containers", "minItems", 1),
        (".spec.template.spec.restartPolicy", "enum", ["Never"]),
        (".spec", "required", ["template", "replicaSpecs", "artifacts"]),
    ],
)
def test_the_schema_bounds(path: str, keyword: str, value: object) -> None:
    assert at(path)[keyword] == value


def test_a_role_that_is_described_again_where_it_is_used_keeps_that_description() -> None:
    assert "leading replica" in at(".spec.replicaSpecs.Chief")["description"]


def test_argo_cd_does_not_delete_all_jobs_when_the_crd_is_no_longer_in_git() -> None:
    assert crd()["metadata"]["annotations"] == {"argocd.argoproj.io/sync-options": "Prune=false"}


@pytest.mark.parametrize(
    ("field", "exception"),
    [
        ("strategy", ""),
        ("template", ""),
        ("replicaSpecs", ", except for numbers of replicas"),
        ("circuit", ""),
        ("artifacts", ""),
        ("profiler", ""),
        ("managedBy", ""),
    ],
)
def test_what_shapes_the_training_is_immutable(field: str, exception: str) -> None:
    (rule,) = (rule for rule in SCHEMA["x-kubernetes-validations"] if rule.get("fieldPath") == f".spec.{field}")

    changed = f"{field} cannot be changed once the job has started{exception}"
    assert rule["message"] == f"{changed}: create a job with another name"
    assert rule["rule"].startswith(  # at each write of a status, this is all that has to be evaluated
        f"(has(self.spec.{field}) == has(oldSelf.spec.{field}) && "
        f"(!has(self.spec.{field}) || self.spec.{field} == oldSelf.spec.{field})) || "
    )


def test_inference_and_most_of_the_run_policy_may_change() -> None:
    rules = " ".join(rule["rule"] for rule in at(".spec")["x-kubernetes-validations"])

    assert "inference" not in rules
    named = set(re.findall(r"runPolicy\.(\w+)", rules))
    assert named == {"schedulingPolicy", "elastic"}
    assert "oldSelf.runPolicy.elastic" not in rules
