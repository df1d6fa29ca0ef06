"""TensorBoard among what a job would create: on a cluster, and not on this machine."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.qtj import qtj
from tests.jobs import job_object


@pytest.fixture
def file(folder: Path) -> str:
    job = job_object(tensorboard={"port": 80})
    job["metadata"] = {"name": "qcnn"}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    return "job.yaml"


def test_it_is_rendered(file: str) -> None:
    answer = qtj("render", file)

    rendered = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(answer.output)}
    assert ("Deployment", "qcnn-tensorboard") in rendered
    assert rendered["Service", "qcnn-tensorboard"]["spec"]["ports"][0]["port"] == 80


def test_it_is_part_of_the_plan(file: str) -> None:
    (plan,) = [json.loads(qtj("plan", file, "-o", "json").output)]

    assert "deployment.apps/qcnn-tensorboard" in plan["creates"]


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("port=0", "job.yaml: spec.tensorboard.port: 0 is too small: this has to be at least 1"),
        ("port=http", "spec.tensorboard.port: this has to be a whole number, without quotes"),
        ("image=Board", "spec.tensorboard.image: this is no name of an image: write REGISTRY/NAME:TAG"),
        ("serviceType=Ingress", "spec.tensorboard.serviceType: this has to be ClusterIP, NodePort or LoadBalancer"),
        ("resources.limits.cpu=0.5", "spec.tensorboard.resources.limits.cpu: this is no quantity: write for example"),
    ],
)
def test_a_mistake_is_found_before_anything_is_created(value: str, sentence: str) -> None:
    answer = qtj("render", "job.yaml", "--set", f"spec.tensorboard.{value}")

    assert answer.code == 2
    assert sentence.rpartition("job.yaml: ")[2] in answer.errors
