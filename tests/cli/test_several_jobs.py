"""A file with several jobs, and several files: each job has its say."""

from pathlib import Path

import pytest

from tests.cli.good_job import EITHER, GOOD
from tests.cli.qtj import qtj

OTHER = GOOD.replace("name: qcnn", "name: other")


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
    (folder / "job.yaml").write_text(f"{GOOD}---\n{theirs}")

    assert qtj("validate", "job.yaml").output == "job.yaml: qcnn is valid\n"


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
