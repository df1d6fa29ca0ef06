"""A file of which a part cannot be read: that part is told, and all others are checked."""

from pathlib import Path

import pytest

from qtj.files.yaml_reader import documents_of, value_of
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj
from tests.cli.test_several_jobs import OTHER
from tests.cli.test_yaml import refusal

WRONG = GOOD.replace("qubits: 8", "qubits: 1")
TOO_FEW = "spec.circuit.qubits: 1 is too small: this has to be at least 4"
ENDLESS_QUOTE = 'this is not YAML: the quote " that begins in this line has no end: close it'
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Data}\n"


@pytest.mark.parametrize("command", ["validate", "run", "plan", "render"])
def test_a_broken_document_hides_no_mistake_of_the_others(folder: Path, command: str) -> None:
    (folder / "jobs.yaml").write_text(f'{WRONG}---\na: "x\n---\n{WRONG.replace("name: qcnn", "name: other")}')

    assert qtj(command, "jobs.yaml").sentences == [
        f"jobs.yaml:8: {TOO_FEW}",
        f"jobs.yaml:25: {ENDLESS_QUOTE}",
        f"jobs.yaml:34: {TOO_FEW}",
    ]


def test_two_jobs_of_one_name_hide_no_other_mistake(folder: Path) -> None:
    (folder / "jobs.yaml").write_text(f"{GOOD}---\n{WRONG}---\n{CONFIG}")

    sentences = qtj("validate", "jobs.yaml").sentences

    assert sentences[:2] == [
        "jobs.yaml:28: metadata.name: two jobs of this file are called qcnn: rename one",
        f"jobs.yaml:32: {TOO_FEW}",
    ]
    assert sentences[2].startswith("jobs.yaml:51: metadata.name: ")
    assert len(sentences) == 3


def test_three_jobs_of_one_name_are_told_twice(folder: Path) -> None:
    (folder / "jobs.yaml").write_text("---\n".join([GOOD] * 3))

    assert [line.partition(": ")[0] for line in qtj("validate", "jobs.yaml").sentences] == [
        "jobs.yaml:28",
        "jobs.yaml:52",
    ]


def test_an_option_that_one_job_has_no_place_for_hides_no_mistake_of_another(folder: Path) -> None:
    (folder / "jobs.yaml").write_text(f"{GOOD.replace('replicas: 2', 'replicas: [2]')}---\n{OTHER}---\n{WRONG}")

    sentences = qtj("render", "jobs.yaml", "--set", "spec.replicaSpecs.Worker.replicas[0]=3").sentences

    assert len([line for line in sentences if line.startswith("--set ")]) == 2
    assert any("is not a list, so it has no element 0" in line for line in sentences)


def test_a_document_that_is_no_object_hides_no_mistake(folder: Path) -> None:
    (folder / "jobs.yaml").write_text(f"just text\n---\n{WRONG}")

    assert [line.partition(": ")[0] for line in qtj("validate", "jobs.yaml").sentences] == [
        "jobs.yaml:1",
        "jobs.yaml:10",
    ]


def test_every_document_that_is_broken_is_told_with_its_line() -> None:
    text = "a: 1\n---\nb: [1, 2\n---\nc: @x\n---\nd: \0\n---\n? [e]\n: f\n---\ng: 1\n"

    assert [line.partition(": ")[0] for line in refusal(text).splitlines()] == ["it:3", "it:5", "it:7", "it:9"]


def test_a_file_that_is_no_yaml_at_all_is_soon_told(folder: Path) -> None:
    (folder / "job.yaml").write_text("--- @\n" * 100_000)

    assert len(qtj("validate", "job.yaml").sentences) == 20


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n", "# c\n%YAML 1.1\n# c\n\n---\na: 1\n---\nb: 2\n"])
def test_a_directive_belongs_to_the_document_after_it(text: str) -> None:
    assert value_of(next(documents_of("it", text))) == {"a": 1}


def test_what_looks_like_a_separator_within_a_text_is_text() -> None:
    (node,) = documents_of("it", "a: |\n  x\n  ---\n  y\nb: '---'\n")

    assert value_of(node) == {"a": "x\n---\ny\n", "b": "---"}


def test_a_broken_tfjob_hides_no_mistake_of_another(folder: Path) -> None:
    (folder / "tfjobs.yaml").write_text("kind: TFJob\nspec: {}\n---\nkind: TFJob\nspec: @x\n")

    assert [line.partition(": ")[0] for line in qtj("convert", "tfjobs.yaml").sentences] == [
        "tfjobs.yaml:5",
        "tfjobs.yaml:2",
    ]


def test_too_many_values_are_reported_once_and_nothing_more_is_read() -> None:
    text = f"[{'1,' * 100_001}]\n---\na: 1\n---\nb: @x\n"

    assert refusal(text) == "it:1: there are more than 100,000 values here, with aliases expanded: write fewer"
