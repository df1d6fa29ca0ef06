"""A file with several jobs, of which some cannot be read: each has its say."""

from pathlib import Path

import pytest

from qtj.files.yaml_reader import documents_of, value_of
from tests.cli.good_job import EITHER, GOOD
from tests.cli.qtj import qtj, validated
from tests.cli.test_yaml import refusal

WRONG = GOOD.replace("qubits: 8", "qubits: 1")
TOO_FEW = "spec.circuit.qubits: 1 is too small: this has to be at least 4"
ENDLESS_QUOTE = 'this is not YAML: the quote " that begins in this line has no end: close it'
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Data}\n"
OTHER = GOOD.replace("name: qcnn", "name: other")


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


def test_too_many_values_are_reported_once_and_nothing_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj.files.yaml_reader._MOST_VALUES", 100)
    text = f"[{'1,' * 101}]\n---\na: 1\n---\nb: @x\n"

    assert refusal(text) == "it:1: there are more than 100,000 values here, with aliases expanded: write fewer"


@pytest.mark.parametrize("command", ["validate", "run", "plan", "render"])
def test_every_job_of_a_file_has_its_say(folder: Path, command: str) -> None:
    wrong = GOOD.replace("qubits: 8", "qubits: 1").replace("replicas: 2", "replicas: 0")
    misspelt = OTHER.replace("kind: QuantumTrainingJob", "kind: QuantumTrainingjob").replace("v1beta1", "v1")
    refused = GOOD.replace("qubits: 8", "qubits: 30").replace("name: qcnn", "name: large")
    (folder / "jobs.yaml").write_text(f"{wrong}---\n{misspelt}---\n{refused}")

    answer = qtj(command, "jobs.yaml")

    assert answer.code == 2
    assert [line.partition(": ")[::2] for line in answer.sentences][:4] == [
        ("jobs.yaml:8", "spec.circuit.qubits: 1 is too small: this has to be at least 4"),
        ("jobs.yaml:13", "spec.replicaSpecs.Worker.replicas: 0 is too small: this has to be at least 1"),
        ("jobs.yaml:25", f"apiVersion: it must be {EITHER}"),
        ("jobs.yaml:26", "kind: it must be QuantumTrainingJob"),
    ]
    assert "30 qubits need at least 24 GiB per replica" in answer.sentences[-1]
    assert len(answer.sentences) == 5


def test_nothing_is_rendered_of_a_file_with_one_bad_job(folder: Path) -> None:
    (folder / "jobs.yaml").write_text(f"{GOOD}---\n{OTHER.replace('qubits: 8', 'qubits: 1')}")

    assert qtj("render", "jobs.yaml").output == ""


def test_a_kind_that_is_near_ours_is_taken_for_a_job(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("QuantumTrainingJob", "QuantumTrainJob").replace("v1beta1", "v1"))

    assert [line.split(": ")[1] for line in qtj("validate", "job.yaml").sentences] == ["apiVersion", "kind"]


def test_a_job_of_somebody_else_is_left_alone(folder: Path) -> None:
    theirs = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: x}\n"
    assert validated(folder, f"{GOOD}---\n{theirs}").output == "job.yaml: qcnn is valid\n"


def test_a_job_that_is_suspended_runs_nothing_and_says_how_it_would(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("  circuit:", "  suspend: true\n  circuit:"))

    answer = qtj("run", "job.yaml")

    assert (answer.code, answer.output) == (2, "")
    advice = "write false, for example by --set spec.suspend=false"
    assert answer.sentences == [f"job.yaml:7: spec.suspend: this is true, so nothing would run: {advice}"]
    assert list(folder.iterdir()) == [folder / "job.yaml"]
    assert qtj("validate", "job.yaml").code == 0, "a cluster takes it"


def test_the_items_of_a_list_are_jobs(folder: Path) -> None:
    item = "\n".join(f"  {line}" for line in GOOD.strip().splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n-{item[1:]}\n"
    (folder / "job.yaml").write_text(text)
    (folder / "bad.yaml").write_text(text.replace("replicas:", "replicaz:", 1))

    assert qtj("validate", "job.yaml").output == "job.yaml: qcnn is valid\n"
    assert "replicaz: there is no such field: write replicas" in qtj("validate", "bad.yaml").sentences[0]
