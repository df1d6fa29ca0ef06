"""One pass over what this operator cannot read: an invalid spec, unknown fields, the status of a later version."""

from typing import Any

import pytest

from qtj_operator.controller.client import Resource
from tests.controller.lab import KEY, Lab, complete, running
from tests.controller.refused_requests import JOB_STATUS
from tests.jobs import a_container, a_template


async def test_an_object_that_cannot_be_read_fails_with_one_sentence_and_costs_nothing_more() -> None:
    lab = await Lab.applied(profiler={"port": 80})

    await lab.settles()
    failed = await lab.condition("Failed")
    lab.client.calls.clear()
    await lab.settles()

    assert (failed["reason"], failed["message"]) == (
        "InvalidSpec",
        "spec.profiler.port: 80 is too small: this has to be at least 1024",
    )
    assert await lab.events() == ["InvalidSpec"]
    assert lab.client.writes == []
    assert lab.pods == ()


async def test_a_job_that_runs_is_left_as_it_is_when_it_can_no_longer_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = await running(Lab())
    before = await lab.status()
    template = (await lab.job())["spec"]["template"]
    await lab.edits(template={})  # stored under rules that were laxer
    lab.kubelet.ends("qcnn-worker-1", 137)

    assert await lab.settles() is None
    assert await lab.status() == before
    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")
    assert "lab/qcnn started earlier and is left as it is: spec.template" in caplog.text

    await lab.edits(template=template)
    await lab.settles()

    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Restarting", 2)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"workers": 2}, "spec.workers"),
        ({"runPolicy": {"elastic": True}}, "spec.runPolicy.elastic"),
        ({"runPolicy": {"cleanPodPolicy": "Archive"}}, "spec.runPolicy.cleanPodPolicy"),
        ({"strategy": "Pipelined"}, "spec.strategy"),
    ],
)
async def test_a_started_job_goes_on_with_what_this_operator_does_not_know(fields: dict[str, Any], path: str) -> None:
    """The CRD of a later version let it through, or an operator of a later version started it."""
    lab = await running(Lab())
    await lab.edits(**fields)
    await lab.settles()
    ignored = await lab.condition("SpecIgnored")
    await lab.ends("qcnn-worker-1", 137)

    assert (await lab.status())["attempt"] == 2
    if path != "spec.strategy":  # which cannot be changed either
        assert (ignored["status"], ignored["reason"]) == ("True", "UnknownField")
        assert ignored["message"] == f"this operator does not know {path}: upgrade it, or remove the field"


async def test_a_new_job_with_an_unknown_field_runs_and_says_what_is_ignored() -> None:
    lab = await running(Lab(), workers=2)

    assert await lab.phase() == "Running"
    assert (await lab.condition("SpecIgnored"))["reason"] == "UnknownField"
    assert "UnknownField" in await lab.events()

    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["spec"].pop("workers"))
    await lab.settles()
    assert (await lab.condition("SpecIgnored"))["status"] == "False"


async def test_what_an_operator_of_a_later_version_wrote_stays_in_the_status() -> None:
    lab = await running(Lab())
    lab.cluster.store.update(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"].update(notebook={"url": "http://board"})
    )
    await lab.ends("qcnn-worker-1", 137)

    assert (await lab.status())["attempt"] == 2
    assert (await lab.status())["notebook"] == {"url": "http://board"}


async def test_a_complete_job_does_not_fail_when_it_can_no_longer_be_read() -> None:
    lab = await complete(Lab())
    await lab.edits(workers=2)

    await lab.settles()

    assert await lab.phase() == "Complete"


async def test_a_status_of_a_later_operator_trains_nothing_again() -> None:
    lab = await complete(Lab())
    status = {**await lab.status(), "phase": "Archived"}
    lab.cluster.edit(Resource.QUANTUM_TRAINING_JOBS, *KEY, status=status)
    lab.client.calls.clear()

    await lab.settles()

    assert await lab.phase() == "Complete"
    assert lab.client.writes == [JOB_STATUS]


@pytest.mark.parametrize(
    ("container", "path"),
    [
        ({"ports": [{"name": ["grpc"], "containerPort": 2222}]}, "ports[0].name"),
        ({"ports": [{"name": "grpc", "containerPort": [2222]}]}, "ports[0].containerPort"),
        ({"volumeMounts": [{"name": ["data"], "mountPath": "/data"}]}, "volumeMounts[0].name"),
    ],
)
async def test_a_name_that_is_a_list_fails_the_job_and_no_pass(container: dict[str, Any], path: str) -> None:
    lab = await Lab.settled(template=a_template(a_container(**container)), tensorboard={})

    failed = await lab.condition("Failed")
    assert failed["reason"] == "InvalidSpec"
    assert failed["message"].startswith(f"spec.template.spec.containers[0].{path}: this has to be ")
