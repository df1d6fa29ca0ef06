"""Templates whose pods would pass for the operator or for its objects."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.core.invalid_spec import invalid_inference
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import replica_pod
from tests.core.refused import sentence
from tests.core.world import new_job, running_job
from tests.jobs import a_container, a_template

RESERVED = [
    {"quantumtraining.dev/tensorboard": "victim"},
    {LABEL_JOB: "victim"},
    {"app.kubernetes.io/name": "qtj-operator"},
    {"app.kubernetes.io/name": "qtj-tensorboard"},
]
OWN = ("quantum", "qtj-operator")


def with_labels(labels: dict[str, str]) -> dict[str, Any]:
    return {**a_template(a_container()), "metadata": {"labels": {"team": "a", **labels}}}


def places(template: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Everywhere that a template may be written."""
    return [
        ("spec.template", {"template": template}),
        ("spec.replicaSpecs.Worker.template", {"replicaSpecs": {"Worker": {"replicas": 2, "template": template}}}),
        ("spec.inference.template", {"inference": {"template": template}}),
    ]


@pytest.mark.parametrize("labels", RESERVED)
@pytest.mark.parametrize("place", range(3))
def test_a_label_by_which_the_operators_objects_are_found_is_refused(labels: dict[str, str], place: int) -> None:
    where, spec = places(with_labels(labels))[place]

    assert sentence(**spec) == (
        f"{where}.metadata.labels sets {next(iter(labels))}, by which the operator's own objects are found: remove it "
        "from the template"
    )


@pytest.mark.parametrize(
    "labels", [{"app.kubernetes.io/name": "mine"}, {"my.quantumtraining.dev/x": "1"}, {"job": "a"}]
)
def test_a_label_that_only_resembles_ours_is_fine(labels: dict[str, str]) -> None:
    assert new_job(template=with_labels(labels)).decide().status.attempt == 1


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
@pytest.mark.parametrize("place", range(3))
def test_the_operators_own_service_account_is_refused_in_its_namespace_alone(field: str, place: int) -> None:
    where, spec = places(a_template(a_container(), **{field: "qtj-operator"}))[place]
    world = new_job(**spec)
    namespace = world.job.namespace

    own = replace(world, platform=replace(world.platform, account=(namespace, "qtj-operator"))).decide()
    other = replace(world, platform=replace(world.platform, account=OWN)).decide()

    failed = next(each for each in own.status.conditions if each.type == "Failed")
    assert failed.message == f"{where}.spec names the operator's own service account: name one of your own"
    assert other.status.attempt == 1


def test_a_tensorboard_with_the_operators_own_service_account_is_refused_in_its_namespace_alone() -> None:
    world = new_job(tensorboard={"serviceAccountName": "qtj-operator"})

    own = replace(world, platform=replace(world.platform, account=(world.job.namespace, "qtj-operator"))).decide()
    other = replace(world, platform=replace(world.platform, account=OWN)).decide()

    failed = next(each for each in own.status.conditions if each.type == "Failed")
    assert failed.message == "spec.tensorboard names the operator's own service account: name one of your own"
    assert other.status.attempt == 1


def test_a_template_of_inference_that_is_no_template_is_told_when_it_is_used() -> None:
    assert new_job(inference={"template": {"metadata": {"labels": ["x"]}, "spec": []}}).decide().status.attempt == 1


@pytest.mark.parametrize("labels", RESERVED)
def test_a_job_that_started_earlier_goes_on_and_its_later_pods_pass_for_nothing(labels: dict[str, str]) -> None:
    world = running_job(template=with_labels(labels), inference={})
    label, value = next(iter(labels.items()))

    assert world.decide().status.attempt == world.job.status.attempt
    assert world.decide().status.phase == "Running"
    inference = world.job.spec.inference
    assert inference is not None
    job_of_inference = inference_job(world.job, inference, None)
    for pod in (replica_pod(world.job, world.job.leader, 2), job_of_inference["spec"]["template"]):
        assert pod["metadata"]["labels"]["team"] == "a"
        assert pod["metadata"]["labels"].get(label) != value


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_an_inference_template_that_is_edited_later_cannot_ask_for_the_operators_account(field: str) -> None:
    job = running_job(inference={"template": a_template(a_container(), **{field: "qtj-operator"})}).job
    platform = new_job().platform

    own = invalid_inference(job, replace(platform, account=(job.namespace, "qtj-operator")))

    assert own == "spec.inference.template.spec names the operator's own service account: name one of your own"
    assert invalid_inference(job, replace(platform, account=OWN)) is None
