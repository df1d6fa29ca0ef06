"""The inference Job: the leading replica's template, and variables that name the weights."""

from typing import Any

import pytest

from qtj_contract import Env
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import WeightsStatus
from qtj_operator.manifests.inference import inference_job, inference_run
from tests.jobs import a_container, a_job, a_template

WEIGHTS = WeightsStatus(uri="gs://lab-bucket/w.h5", sha256="ab" * 32)
OTHER_WEIGHTS = WeightsStatus(uri="gs://lab-bucket/w.h5", sha256="cd" * 32)


def built(
    *, weights: WeightsStatus | None = WEIGHTS, inference: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    job = a_job(inference=inference or {}, **spec)
    assert job.inference is not None
    return inference_job(job, job.inference, weights)


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    (only,) = manifest["spec"]["template"]["spec"]["containers"]
    return dict(only)


def run(**inference: Any) -> str:
    return inference_run(Inference.model_validate(inference), WEIGHTS)


def test_it_gets_exactly_the_stored_weights() -> None:
    environment = {variable["name"]: variable["value"] for variable in container(built())["env"]}

    assert (environment[Env.WEIGHTS_URI], environment[Env.WEIGHTS_SHA256]) == (WEIGHTS.uri, WEIGHTS.sha256)
    assert environment[Env.ARTIFACTS_URI] == "gs://lab-bucket/qcnn"


def test_it_gets_no_checksum_if_none_is_known() -> None:
    environment = {
        each["name"]: each["value"] for each in container(built(weights=WeightsStatus(uri="gs://b/w.h5")))["env"]
    }

    assert environment[Env.WEIGHTS_URI] == "gs://b/w.h5"
    assert Env.WEIGHTS_SHA256 not in environment


def test_it_gets_no_weights_if_there_are_none() -> None:
    environment = {each["name"] for each in container(built(weights=None))["env"]}

    assert environment.isdisjoint({Env.WEIGHTS_URI, Env.WEIGHTS_SHA256})


def test_its_own_template_replaces_the_leaders_and_says_itself_what_runs() -> None:
    own = a_template(a_container(image="small", command=["python"], args=["judge.py"]), nodeSelector={"cpu": "fast"})

    manifest = built(inference={"template": own})

    assert manifest["spec"]["template"]["spec"]["nodeSelector"] == {"cpu": "fast"}
    assert [container(manifest)[field] for field in ("image", "command", "args")] == ["small", ["python"], ["judge.py"]]
    assert container(built(inference={"template": own, "args": ["x"]}))["args"] == ["x"]
    assert "args" not in container(built(inference={"template": a_template()}))


def test_it_has_a_deadline_when_the_user_gives_it_one() -> None:
    assert built(inference={"activeDeadlineSeconds": 60})["spec"]["activeDeadlineSeconds"] == 60
    assert "activeDeadlineSeconds" not in built()["spec"]


def test_it_waits_in_the_queue_of_its_job_as_a_job_of_its_own() -> None:
    manifest = built(runPolicy={"schedulingPolicy": {"queueName": "quantum"}})

    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "quantum"
    assert not any("kueue" in label for label in manifest["spec"]["template"]["metadata"]["labels"])


def test_it_is_no_member_of_the_gang() -> None:
    manifest = built()

    environment = {variable["name"] for variable in container(manifest)["env"]}
    labels = manifest["spec"]["template"]["metadata"]["labels"]
    assert environment.isdisjoint({Env.TF_CONFIG, Env.PROFILER_PORT, Env.METRICS_PORT})
    assert "ports" not in container(manifest)
    assert "quantumtraining.dev/role" not in labels


def test_it_runs_infer_unless_the_user_says_otherwise() -> None:
    trained = a_template(a_container(command=["qtj-trainer"], args=["train", "qcnn"]))

    assert container(built(template=trained))["args"] == ["infer"]
    assert container(built(template=trained))["command"] == ["qtj-trainer"]
    assert container(built(template=trained, inference={"args": []}))["args"] == []
    other = container(built(template=trained, inference={"command": ["python"]}))
    assert (other["command"], other["args"]) == (["python"], [])


@pytest.mark.parametrize(
    ("training", "inferring"),
    [
        ({"args": ["--log-format", "json", "train", "qcnn"]}, ["infer"]),
        ({"command": ["python", "program.py"], "args": ["train", "--lr=1"]}, ["infer"]),
        ({"command": ["python", "program.py"], "args": ["--seed", "3"]}, ["--seed", "3"]),
        ({"command": ["python", "program.py"], "args": ["--split", "train"]}, ["--split", "train"]),
        ({"args": ["--seed", "3"]}, ["--seed", "3"]),
    ],
)
def test_it_runs_a_program_with_the_arguments_of_its_training(training: dict[str, Any], inferring: list[str]) -> None:
    assert container(built(template=a_template(a_container(**training))))["args"] == inferring


def test_a_program_without_arguments_gets_none() -> None:
    assert "args" not in container(built(template=a_template(a_container(command=["python", "program.py"]))))


def test_it_runs_in_the_container_called_trainer() -> None:
    template = a_template(a_container(name="proxy", args=["serve"]), a_container(args=["train"]))

    proxy, trainer = built(template=template)["spec"]["template"]["spec"]["containers"]

    assert (proxy["args"], trainer["args"]) == (["serve"], ["infer"])


def test_it_retries_twice_unless_the_user_says_otherwise() -> None:
    assert built()["spec"]["backoffLimit"] == 2
    assert built(inference={"backoffLimit": 0})["spec"]["backoffLimit"] == 0


def test_its_pods_are_found_by_the_job_and_the_run_and_keep_the_users_labels() -> None:
    template = {**a_template(), "metadata": {"labels": {"team": "quantum"}, "annotations": {"note": "mine"}}}

    manifest = built(template=template)

    pod = manifest["spec"]["template"]["metadata"]
    assert pod["labels"]["team"] == "quantum"
    assert pod["labels"]["quantumtraining.dev/job"] == "qcnn"
    assert (
        pod["labels"]["quantumtraining.dev/inference"]
        == manifest["metadata"]["labels"]["quantumtraining.dev/inference"]
    )
    assert pod["annotations"] == {"note": "mine"}


def test_the_run_is_the_same_for_the_same_weights_and_spec() -> None:
    assert run(args=["infer"]) == run(args=["infer"])


@pytest.mark.parametrize("other", [{}, {"args": ["x"]}, {"args": ["infer"], "command": ["p"]}])
def test_another_spec_means_another_run(other: dict[str, Any]) -> None:
    assert run(**other) != run(args=["infer"])


def test_other_weights_mean_another_run() -> None:
    assert inference_run(Inference(), WEIGHTS) != inference_run(Inference(), OTHER_WEIGHTS)


def test_weights_without_a_checksum_are_known_by_their_address() -> None:
    one, other = (inference_run(Inference(), WeightsStatus(uri=f"gs://lab-bucket/{name}.h5")) for name in "ab")

    assert len({one, other, inference_run(Inference(), None), inference_run(Inference(), WEIGHTS)}) == 4


def test_the_run_of_a_spec_without_newer_fields_is_the_one_that_earlier_operators_recorded() -> None:
    assert run(args=["infer"]) == "703a89755401c85f"
