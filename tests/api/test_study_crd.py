"""The CustomResourceDefinition of studies, as it is checked in."""

from typing import Any

from typer.testing import CliRunner

from qtj.commands.main import app
from qtj_operator.api.crd import crd, study_crd, study_crd_yaml
from tests.api.test_crd import CRD_FILE, nodes

FILE = CRD_FILE.with_name("quantumtrainingstudies.quantumtraining.dev.yaml")
SCHEMA: dict[str, Any] = study_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_the_file_in_crds_is_what_the_models_generate() -> None:
    assert FILE.read_text() == study_crd_yaml(), "run `make crds`"
    assert CliRunner().invoke(app, ["crd", "--study"]).stdout == study_crd_yaml()


def test_it_is_served_in_the_versions_of_jobs() -> None:
    def versions(definition: dict[str, Any]) -> list[tuple[str, bool]]:
        return [(each["name"], each["storage"]) for each in definition["spec"]["versions"]]

    assert versions(study_crd()) == versions(crd())


def test_every_field_is_described_in_a_sentence() -> None:
    described = {
        f"{path}.{name}": str(field.get("description", ""))
        for path, node in nodes(SCHEMA)
        for name, field in node.get("properties", {}).items()
        if path.startswith((".spec", ".status"))
    }

    assert [path for path, text in described.items() if not text.endswith(".")] == []


def test_nothing_that_users_write_has_a_default() -> None:
    assert [path for path, node in nodes(SCHEMA) if "default" in node] == [".status"]


def test_only_the_template_and_values_take_what_the_schema_does_not_know() -> None:
    open_ = {path for path, node in nodes(SCHEMA) if node.get("x-kubernetes-preserve-unknown-fields")}

    assert open_ == {
        ".spec.jobTemplate",
        ".spec.final.parameters[]",
        ".spec.parameters[].values[]",
        ".status.best.parameters[]",
        ".status.final.parameters[]",
        ".status.trials[].parameters[]",
    }
