"""--set: another value for one field."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj


@pytest.fixture(autouse=True)
def job(folder: Path) -> Path:
    (folder / "job.yaml").write_text(GOOD)
    return folder / "job.yaml"


def rendered(*settings: str) -> list[dict[str, Any]]:
    answer = qtj("render", "job.yaml", *(word for setting in settings for word in ("--set", setting)))
    assert answer.code == 0, answer.errors
    return list(yaml.safe_load_all(answer.output))


def test_a_number_is_set(folder: Path) -> None:
    pods = [each for each in rendered("spec.replicaSpecs.Worker.replicas=3") if each["kind"] == "Pod"]

    assert len(pods) == 3


def test_a_list_in_a_list_is_set(folder: Path) -> None:
    pod = rendered("spec.template.spec.containers[0].args=[train, qcnn, --epochs=3]")[-1]

    assert pod["spec"]["containers"][0]["args"] == ["train", "qcnn", "--epochs=3"]


def test_objects_on_the_way_are_made(folder: Path) -> None:
    pod = rendered("spec.template.metadata.labels['team.example/name']=blue")[-1]

    assert pod["metadata"]["labels"]["team.example/name"] == "blue"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("spec.strategy", "--set spec.strategy: write PATH=VALUE"),
        ("=1", "--set =1: write PATH=VALUE"),
        ("spec..x=1", "--set spec..x=1: write PATH=VALUE"),
        ("replicas=1", "--set replicas=1: a path begins with metadata. or spec."),
        ("spec.strategy.x=1", "--set spec.strategy.x=1: spec.strategy is not an object, so it has no fields"),
        (
            "spec.template.spec.containers[1].image=x",
            "--set spec.template.spec.containers[1].image=x: spec.template.spec.containers has no element 1: it",
        ),
        ("spec.circuit={", "--set spec.circuit={: { is not a value in YAML"),
        ("spec.circuit={a: &a [*a]}", "--set spec.circuit={a: &a [*a]}: {a: &a [*a]} is not a value in YAML"),
        (
            "spec.template.spec.containers.args=[a]",
            "--set spec.template.spec.containers.args=[a]: spec.template.spec.containers is a list: name one of its",
        ),
        ("spec.circuit[0]=1", "--set spec.circuit[0]=1: spec.circuit is not a list, so it has no element 0"),
        (
            "spce.suspend=true",
            "--set spce.suspend=true: a path begins with metadata. or spec.",
        ),
        (
            "spec.replicaSpec.Worker.replicas=4",
            "--set spec.replicaSpec.Worker.replicas=4: spec.replicaSpec: there is no such field: write replicaSpecs",
        ),
        (
            "spec.replicaSpecs.worker.replicas=4",
            "--set spec.replicaSpecs.worker.replicas=4: spec.replicaSpecs.worker: there is no such field: write Worker",
        ),
        (
            "metadata.name=12",
            "--set metadata.name=12: metadata.name: this has to be text, and in quotes",
        ),
        (
            "metadata.labels.when=on",
            '--set metadata.labels.when=on: metadata.labels.when: this has to be text: write "on", in quotes',
        ),
        (
            'metadata.labels.x="\\0"',
            '--set metadata.labels.x="\\0": metadata.labels.x: "\\x00" is not the value of a label',
        ),
        (
            "spec.circuit.qubits=99",
            "--set spec.circuit.qubits=99: spec.circuit.qubits: 99 is too large: this has",
        ),
        ("spec.nonsense=1", "--set spec.nonsense=1: spec.nonsense: there is no such field"),
    ],
)
def test_a_bad_one_is_told(folder: Path, setting: str, sentence: str) -> None:
    answer = qtj("render", "job.yaml", "--set", setting)

    assert answer.code == 2
    assert answer.sentences[0].startswith(sentence)


def test_the_last_word_on_a_field_is_the_one_that_is_told(folder: Path) -> None:
    answer = qtj("render", "job.yaml", "--set", "spec.circuit.qubits=1", "--set", "spec.circuit.qubits=99")

    assert answer.sentences == [
        "--set spec.circuit.qubits=99: spec.circuit.qubits: 99 is too large: this has to be at most 40"
    ]


def test_a_value_that_stands_twice_by_an_alias_is_set_in_one_place(folder: Path) -> None:
    both = "          command: &it [python]\n          args: *it\n          resources:"
    (folder / "job.yaml").write_text(GOOD.replace("          resources:", both))

    pod = rendered("spec.template.spec.containers[0].command[0]=bash")[-1]

    assert (pod["spec"]["containers"][0]["command"], pod["spec"]["containers"][0]["args"]) == (["bash"], ["python"])


MAIN = "spec.template.spec.containers[0]"


@pytest.mark.parametrize(
    ("command", "setting", "sentence"),
    [
        ("render", "spec.strategy=ParameterServer", "spec: strategy ParameterServer needs the roles Chief"),
        ("render", "spec.circuit.qubits=30", "30 qubits need at least 24 GiB per replica"),
        ("render", f"{MAIN}.env[0].name=TF_CONFIG", "spec.template.spec.containers[trainer] sets TF_CONFIG"),
        ("run", f"{MAIN}.command=[nosuch]", 'the program "nosuch" of the container trainer is not on this machine'),
        ("run", f"{MAIN}.envFrom=[{{configMapRef: {{name: x}}}}]", "ConfigMap x does not exist"),
    ],
)
def test_a_mistake_that_an_option_makes_elsewhere_is_told_of_the_option(
    folder: Path, command: str, setting: str, sentence: str
) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("mine:1\n", "mine:1\n          command: [python]\n"))

    answer = qtj(command, "job.yaml", "--set", "metadata.name=other", "--set", setting)

    assert [line.startswith(f"--set {setting}: {sentence}") for line in answer.sentences] == [True]


def test_a_mistake_of_the_file_is_told_of_its_line_whatever_is_set(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("qubits: 8", "qubits: 30"))

    answer = qtj("render", "job.yaml", "--set", "spec.replicaSpecs.Worker.replicas=3")

    assert [line.partition(": ")[0] for line in answer.sentences] == ["job.yaml:16"]


def test_a_mistake_that_another_one_hid_is_not_told_of_the_option_that_corrected_that(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("qubits: 8", "qubits: 30").replace("replicas: 2", "replicas: 0"))

    answer = qtj("render", "job.yaml", "--set", "spec.replicaSpecs.Worker.replicas=3")

    assert [line.partition(": ")[0] for line in answer.sentences] == ["job.yaml:16"]


def args_of(*settings: str) -> list[list[str]]:
    pods = [each for each in rendered(*settings) if each["kind"] == "Pod"]
    return [each["spec"]["containers"][0]["args"] for each in pods]


@pytest.mark.parametrize(
    ("written", "setting", "expected"),
    [
        ("[train, --seed=1, --lr, '0.1']", "--seed=2", ["train", "--seed=2", "--lr", "0.1"]),
        ("[train, --seed=1, --lr, '0.1']", "--lr=0.02", ["train", "--seed=1", "--lr", "0.02"]),
        ("[train]", "--name=a=b", ["train", "--name=a=b"]),
    ],
)
def test_one_argument_of_the_program_is_set(folder: Path, written: str, setting: str, expected: list[str]) -> None:
    field = f"spec.template.spec.containers[0].args={written}"

    assert args_of(field, setting)[0] == expected


def test_an_argument_that_nothing_can_have_is_refused(folder: Path) -> None:
    answer = qtj("render", "job.yaml", "--set", "spec.template=null", "--set", "--seed=3")

    assert answer.code == 2
    assert "--set --seed=3: no template of this job has containers" in answer.errors
