"""The trainer is asked about its own arguments before it starts."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import validated

TRAINER = "image: registry.example/qtj-trainer:1"


@pytest.mark.parametrize(
    ("arguments", "inference", "sentence"),
    [
        ("[train, qcnn, --epochs=-3]", "[infer]", "19: spec.template.spec.containers[0].args: --epochs is -3: it must"),
        ("[train, qcnn, --sead=0]", "[infer]", "19: spec.template.spec.containers[0].args: No such option: --sead"),
        (
            "[train, qcnn, --qubits=4]",
            "[infer]",
            "19: spec.template.spec.containers[0].args: --qubits 4 contradicts the",
        ),
        ("[]", "[infer]", "19: spec.template.spec.containers[0].args: Missing command: try --help"),
        ("[train, qcnn]", "[]", "6: spec.inference.args: Missing command: try --help"),
        ("[train, qccn]", "[infer]", "19: spec.template.spec.containers[0].args: No such command 'qccn'"),
        ("[train, qcnn]", "[infre]", "6: spec.inference.args: No such command 'infre'"),
    ],
)
def test_arguments_that_the_trainer_does_not_understand_are_told_before_it_starts(
    folder: Path, arguments: str, inference: str, sentence: str
) -> None:
    text = GOOD.replace("spec:\n", f"spec:\n  inference: {{args: {inference}}}\n", 1)
    text = text.replace("          image: registry.example/mine:1", f"          args: {arguments}\n          {TRAINER}")
    answer = validated(folder, text)

    assert answer.code == 2
    assert [line.removeprefix("job.yaml:").startswith(sentence) for line in answer.sentences] == [True]


def test_a_trainer_that_is_not_told_what_to_do_is_refused(folder: Path) -> None:
    answer = validated(folder, GOOD.replace("image: registry.example/mine:1", TRAINER))

    assert answer.sentences == [
        "job.yaml:17: spec.template.spec.containers[0].args: Missing command: try --help",
    ]


def test_a_template_that_no_replica_uses_is_not_asked_about(folder: Path) -> None:
    own = "template: {spec: {containers: [{name: trainer, image: mine:1}]}}"
    text = GOOD.replace("image: registry.example/mine:1", TRAINER)
    assert validated(folder, text.replace("replicas: 2", f"replicas: 2\n      {own}")).code == 0


@pytest.mark.parametrize(
    ("circuit", "arguments", "sentence"),
    [
        (
            "precision: double",
            "[train, qcnn, --precision=single]",
            "--precision single contradicts the job's spec.circuit.precision double",
        ),
        ("precision: double", "[train, qcnn, --engine=tfq]", "--precision is double and --engine is tfq"),
        ("filters: 3", "[train, qcnn, --filters=2]", "--filters 2 contradicts the job's spec.circuit.filters 3"),
    ],
)
def test_a_circuit_that_the_trainer_does_not_compute_is_told_before_it_starts(
    folder: Path, circuit: str, arguments: str, sentence: str
) -> None:
    text = GOOD.replace("qubits: 8", f"qubits: 8\n    {circuit}")
    text = text.replace("          image: registry.example/mine:1", f"          args: {arguments}\n          {TRAINER}")
    answer = validated(folder, text)

    assert answer.code == 2
    assert sentence in answer.sentences[0]


def evaluated(arguments: str) -> str:
    """A job with an evaluator, whose replicas all have these arguments."""
    text = GOOD.replace("replicas: 2", "replicas: 2\n    Evaluator: {}")
    return text.replace("          image: registry.example/mine:1", f"          args: {arguments}\n          {TRAINER}")


def test_an_evaluator_without_checkpoints_is_refused_before_it_starts(folder: Path) -> None:
    answer = validated(folder, evaluated("[train, qcnn, --checkpoint-every=0]"))

    assert answer.code == 2
    [sentence] = answer.sentences
    where, why = sentence.split(": ", 2)[1:]
    assert where == "spec.template.spec.containers[0].args"
    assert why.startswith("an evaluator has no work if no checkpoints are stored: set --checkpoint-every")


@pytest.mark.parametrize("arguments", ["[train, qcnn]", "[train, qcnn, --checkpoint-every=0, --checkpoint-steps=5]"])
def test_an_evaluator_with_checkpoints_is_valid(folder: Path, arguments: str) -> None:
    assert validated(folder, evaluated(arguments)).code == 0
