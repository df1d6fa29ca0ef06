"""The references of the documentation leave nothing out."""

import re

from qtj_contract import Progress
from qtj_operator.api.conditions import FAILURES, ConditionType, Reason
from qtj_operator.controller.metrics import Metrics
from qtj_trainer.replica.telemetry import GAUGES, Telemetry
from tests.docs.blocks import rows
from tools.docs.files import ROOT, linked_files
from tools.docs.site import CHAPTERS

DOCS = ROOT / "docs"
CONDITIONS = rows(DOCS / "reference/conditions.md")
METRICS = {name for row in rows(DOCS / "reference/metrics.md") for name in re.findall(r"qtj_\w+", row[0])}


def test_every_condition_and_every_reason_is_described() -> None:
    described = {row[0].strip("`") for row in CONDITIONS}

    assert described == {*ConditionType, *Reason}


def test_every_reason_has_a_meaning_and_what_to_do() -> None:
    described = [row for row in CONDITIONS if row[0].strip("`") in set(Reason) - set(ConditionType)]

    assert len(described) > 30
    assert [row for row in described if not all(row)] == []


def test_every_reason_of_a_failure_is_described_with_the_condition_failed() -> None:
    described = {row[0].strip("`") for row in CONDITIONS if len(row) == 4 and "Failed" in row[1]}

    assert set(FAILURES) <= described
    assert described - set(FAILURES) == {Reason.SPEC_CHANGED, Reason.INFERRING, Reason.RETRIED}


def test_every_metric_is_described() -> None:
    metrics = Metrics()
    metrics.resynced()
    exported = {
        family.name + ("_total" if family.type == "counter" else "_info" if family.type == "info" else "")
        for family in metrics.registry.collect()
    }

    telemetry = Telemetry(Progress(epoch=0))
    telemetry.step(telemetry.progress)
    telemetry.clock.recent.add(1.0, 0.5)

    exported |= {f"qtj_training_{name}" for name in GAUGES} | {family.name for family in telemetry.collect()}
    assert exported == METRICS


def test_every_page_is_in_the_list_of_the_site() -> None:
    listed = {page for pages in CHAPTERS.values() for page in pages}
    pages = (*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"))
    written = {path.relative_to(DOCS).with_suffix("").as_posix() for path in pages}

    assert written - {"index"} == {page for page in listed if not page.startswith("files/")}


def test_every_linked_file_of_the_repository_has_a_page() -> None:
    pages = linked_files()

    assert {"files/README.md", "files/examples/qcnn.yaml.md", "files/deploy/users/kustomization.yaml.md"} <= set(pages)
    assert "](qcnn.yaml.md)" not in pages["files/README.md"]


def test_every_example_is_listed() -> None:
    listed = {row[0].partition("](../")[2].rstrip(")") for row in rows(DOCS / "examples.md")}

    assert listed == {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.yaml")}
