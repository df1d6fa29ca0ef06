"""`-o json|yaml|name` is the same in all commands, and `--dry-run` does nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj.terminal.output_format import OutputFormat, formatted
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj

JOB: dict[str, Any] = {"apiVersion": "x.dev/v1", "kind": "Job", "metadata": {"name": "a"}}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}
NAME = "quantumtrainingjob.quantumtraining.dev/qcnn"
RUNNABLE = ("--set", "spec.template.spec.containers[0].command=[python]")
CREATED = ["service/qcnn-worker-0", "service/qcnn-worker-1", "pod/qcnn-worker-0", "pod/qcnn-worker-1"]


@pytest.fixture
def job(folder: Path) -> str:
    (folder / "job.yaml").write_text(GOOD)
    return "job.yaml"


@pytest.mark.parametrize("form", [OutputFormat.JSON, OutputFormat.YAML])
def test_one_object_is_printed_as_it_is_and_several_as_a_list(form: OutputFormat) -> None:
    one, two = (yaml.safe_load(formatted(objects, form)) for objects in ([JOB], [JOB, POD]))

    assert one == JOB
    assert (two["kind"], two["items"]) == ("List", [JOB, POD])


def test_what_lists_prints_a_list_of_one_and_of_none() -> None:
    assert json.loads(formatted([JOB], OutputFormat.JSON, as_list=True))["items"] == [JOB]
    assert json.loads(formatted([], OutputFormat.JSON))["items"] == []
    assert formatted([], OutputFormat.NAME) == ""


def test_names_are_those_of_kubectl() -> None:
    assert formatted([JOB, POD], OutputFormat.NAME).splitlines() == ["job.x.dev/a", "pod/b"]


@pytest.mark.parametrize("command", ["plan", "render"])
def test_plan_and_render_name_what_the_operator_would_create(job: str, command: str) -> None:
    assert qtj(command, job, "-o", "name").output.splitlines() == CREATED


def test_the_plan_for_programs_says_what_is_unknown_and_why(job: str) -> None:
    plan = json.loads(qtj("plan", job, "-o", "json").output)

    assert (plan["name"], plan["replicas"], plan["creates"]) == ("qcnn", 2, CREATED)
    assert plan["memory"] == {"bytesPerReplica": 3 * 2**8 * 8, "limit": "2Gi"}


def test_validate_tells_programs_of_each_file_what_is_wrong(job: str, folder: Path) -> None:
    (folder / "wrong.yaml").write_text(GOOD.replace("replicas: 2", "replicas: 0"))

    answer = qtj("validate", job, "wrong.yaml", "-o", "yaml")
    good, wrong = yaml.safe_load(answer.output)["items"]

    assert answer.code == 2
    assert good == {"file": "job.yaml", "valid": True, "mistakes": []}
    assert (wrong["file"], wrong["valid"], wrong["mistakes"]) == ("wrong.yaml", False, answer.sentences)


def test_a_dry_run_says_where_a_run_would_be_and_makes_nothing(job: str, folder: Path) -> None:
    answer = qtj("run", job, *RUNNABLE, "--dry-run")

    assert answer.code == 0
    assert answer.output.splitlines()[:2] == ["qcnn would train here", "  processes  qcnn-worker-0, qcnn-worker-1"]
    assert f"{folder / 'qtj-artifacts/qcnn'}" in answer.output
    assert answer.output.splitlines()[-1] == "nothing was started: --dry-run"
    assert [path.name for path in folder.iterdir()] == ["job.yaml"]


def test_a_dry_run_for_programs_prints_the_job_as_it_would_be_run(job: str) -> None:
    answer = qtj("run", job, *RUNNABLE, "--dry-run", "-o", "yaml")

    assert qtj("run", job, *RUNNABLE, "--dry-run", "-o", "name").output == f"{NAME}\n"
    assert yaml.safe_load(answer.output)["spec"]["template"]["spec"]["containers"][0]["command"] == ["python"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), 'job.yaml:16: image "registry.example/mine:1" is not pulled on this machine'),
        ((*RUNNABLE, "--resume"), "there is no run of qcnn in this folder to continue: leave --resume out"),
        ((*RUNNABLE, "--artifacts", "/dev/null/x"), "cannot write to /dev/null/x (/dev/null: it is not a folder)"),
    ],
)
def test_a_dry_run_finds_what_would_stop_a_run(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    (folder / "job.yaml").write_text(GOOD)

    answer = qtj("run", "job.yaml", "--dry-run", *options)

    assert answer.code == 2
    assert answer.sentences[0].startswith(sentence)


def test_a_dry_run_of_many_replicas_names_the_first_and_the_last(job: str) -> None:
    answer = qtj("run", job, *RUNNABLE, "--set", "spec.replicaSpecs.Worker.replicas=100", "--dry-run")

    assert "  processes  qcnn-worker-0 ... qcnn-worker-99 (100)" in answer.output.splitlines()
    assert max(map(len, answer.output.splitlines())) < 300


def test_validate_and_convert_name_what_they_read_and_made(job: str, folder: Path) -> None:
    replica = {"replicas": 1, "template": {"spec": {"containers": [{"name": "tensorflow", "image": "mine:1"}]}}}
    tfjob = {"kind": "TFJob", "metadata": {"name": "qcnn"}, "spec": {"tfReplicaSpecs": {"Worker": replica}}}
    (folder / "tfjob.yaml").write_text(yaml.safe_dump(tfjob))

    assert qtj("validate", job, "-o", "name").output == "job.yaml\n"
    assert qtj("convert", "tfjob.yaml", "-o", "name").output == f"{NAME}\n"
