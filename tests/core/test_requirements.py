"""Requirements that cannot be installed: a mistake ends the job, an index that does not answer is asked again."""

import json
from typing import Any

import pytest

from qtj_operator.core.invalid_spec import fault, invalid_inference
from qtj_operator.core.platform import CLUSTER
from qtj_operator.core.pod import Ending
from tests.core.world import NOW, World, inferring_job, starting_job
from tests.jobs import a_container, a_job, a_template

PROGRAM: dict[str, Any] = {
    "configMap": "iris",
    "entry": "iris.py",
    "requirements": {"file": "r.txt", "cache": "wheels"},
}
CACHE: dict[str, Any] = {"volumes": [{"name": "wheels", "emptyDir": {}}]}
AT = "spec.template.spec.containers[trainer]"
FIELD = "spec.program.requirements"
SAYS = "spec.program.requirements cannot be installed: no such version"


def ended(code: int) -> Ending:
    """The end of the init container, as it tells it."""
    text = json.dumps({"error": SAYS})
    return Ending(exit_code=code, reason="Error", text=text, time=NOW, init="qtj-requirements")


def installing(code: int, **job: Any) -> World:
    world = starting_job(template=a_template(**CACHE), program=PROGRAM, **job)
    return world.with_pod("worker-0", phase="Failed", ending=ended(code), node="node-1")


def test_a_mistake_ends_the_job_with_its_sentence() -> None:
    status = installing(1).decide().status

    assert (status.phase, status.reason) == ("Failed", "ReplicaFailed")
    assert (status.conditions or ())[-1].message == (
        f"qcnn-worker-0 ended (exit code 1 of its init container qtj-requirements): {SAYS}; this exit code is final"
    )


def test_an_index_that_does_not_answer_is_asked_again_within_the_budget() -> None:
    again = installing(75).decide().status
    at_last = installing(75, runPolicy={"backoffLimit": 0}).decide().status

    assert (again.attempt, again.restarts, again.phase) == (2, 1, "Restarting")
    assert (at_last.phase, at_last.reason) == ("Failed", "BackoffLimitExceeded")


def test_it_has_lost_no_peer() -> None:
    waiting = installing(75).with_pod("worker-1", phase="Pending", unscheduled="no node is free").decide().status

    assert (waiting.restarts, waiting.disruptions) == (1, None), "else it would be repeated without end"


def test_inference_fails_with_the_same_sentence() -> None:
    world = inferring_job(template=a_template(**CACHE), program=PROGRAM)

    status = world.with_inference(failed=True, ending=ended(1)).decide().status

    assert (status.phase, status.reason) == ("Failed", "InferenceFailed")
    assert SAYS in (status.conditions or ())[-1].message


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (a_template(**CACHE), None),
        (
            a_template(),
            f"{AT} is in a pod without a volume wheels, which spec.program.requirements.cache names: add the volume",
        ),
        (
            a_template(initContainers=[a_container(name="qtj-requirements")], **CACHE),
            f"{AT} is in a pod with a container qtj-requirements, as {FIELD} gets one: rename the container",
        ),
        (
            a_template(volumes=[*CACHE["volumes"], {"name": "qtj-requirements", "emptyDir": {}}]),
            f"{AT} is in a pod with a volume qtj-requirements, as {FIELD} gets one: rename the volume",
        ),
        (
            a_template(a_container(volumeMounts=[{"name": "wheels", "mountPath": "/opt/requirements/x"}]), **CACHE),
            f"{AT} mounts wheels at /opt/requirements/x, where spec.program.requirements is: mount it elsewhere",
        ),
        (
            a_template(a_container(env=[{"name": "PYTHONPATH", "valueFrom": {"configMapKeyRef": {}}}]), **CACHE),
            f"{AT} takes PYTHONPATH from elsewhere, and spec.program.requirements adds a folder to it: write its value",
        ),
        (
            a_template(a_container(env=[{"name": "QTJ_JOB", "value": "x"}]), **CACHE),
            f"{AT} sets QTJ_JOB, which the operator writes for every replica: remove it from the template",
        ),
    ],
    ids=["a place", "no volume", "a container", "a volume", "a mount", "a path", "a variable that both have"],
)
def test_a_template_without_a_place_for_them_is_refused(template: dict[str, Any], sentence: str | None) -> None:
    assert fault(a_job(program=PROGRAM, template=template), CLUSTER) == sentence


def test_so_is_one_of_inference() -> None:
    job = a_job(program=PROGRAM, template=a_template(**CACHE), inference={"template": a_template()})

    assert fault(job, CLUSTER) is None
    assert "without a volume wheels" in str(invalid_inference(job, CLUSTER))
