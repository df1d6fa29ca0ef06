"""The template of inference is checked as that of the replicas is."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD, INFERENCE
from tests.cli.qtj import qtj


def test_inference_with_a_template_of_its_own_is_valid(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD + INFERENCE)

    assert qtj("validate", "job.yaml").code == 0


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("image: theirs:1", "imagee: theirs:1", "job.yaml:29: spec.inference.template.spec.containers[0].imagee: Kub"),
        ("{memory: 2Gi}", "{memory: 2Gb}", "job.yaml:30: spec.inference.template.spec.containers[0].resources.limits"),
        (
            "{memory: 2Gi}}",
            "{memory: 1Ki}}",
            "8 qubits need at least 2 KiB for inference (1 state of 2 KiB)",
        ),
        (
            "resources: {limits: {memory: 2Gi}}",
            "env: [{name: QTJ_JOB, value: x}]",
            "spec.inference.template.spec.containers[judge] sets QTJ_JOB, which the operator writes for every replica",
        ),
        (
            "resources: {limits: {memory: 2Gi}}",
            "env: [{value: x}]",
            "spec.inference.template.spec.containers[0].env[0].name: this field is missing",
        ),
    ],
)
def test_a_mistake_in_the_template_of_inference_is_told_with_its_line(
    folder: Path, good: str, bad: str, sentence: str
) -> None:
    (folder / "job.yaml").write_text(GOOD + INFERENCE.replace(good, bad))

    answer = qtj("validate", "job.yaml")

    assert (answer.code, len(answer.sentences)) == (2, 1)
    assert sentence in answer.errors
    assert int(answer.sentences[0].split(":")[1]) in range(24, 31), "a line of spec.inference"
