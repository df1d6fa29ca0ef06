"""One pass after the user has edited the job: what is checked again, and what is never used."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import KEY, Lab, complete, running
from tests.controller.refused_requests import POLICY, running_again


async def test_a_job_that_failed_because_of_its_spec_is_checked_again_when_the_spec_changes() -> None:
    lab = await Lab.settled(artifacts={"uri": "file:///nowhere"}, runPolicy={"backoffLimit": 7})
    failed = await lab.status()
    await lab.edits(artifacts={"uri": "gs://lab-bucket/qcnn"})
    await running_again(lab)

    assert (failed["phase"], failed["reason"]) == ("Failed", "InvalidSpec")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 1)
    assert "completionTime" not in await lab.status()


async def test_a_template_that_was_refused_may_be_mended() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "spec.containers[0].resources.limits.memory: 8Gx is no quantity")
    lab.client.refuse = lambda call: malformed if call == "create pods qcnn-worker-1" else None
    await lab.applies()
    await lab.settles()
    failed = await lab.status()
    lab.client.refuse = lambda _: None
    assert await lab.settles() is not timedelta(0)
    assert await lab.phase() == "Failed", "nothing has changed that it could be judged by"

    await lab.relabels(mended="yes")
    await lab.settles()
    lab.kubelet.reaps()
    await running_again(lab)

    assert (failed["phase"], failed["reason"]) == ("Failed", "ChildRejected")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 2)
    assert (await lab.status())["specDigest"] != failed["specDigest"]


async def test_a_template_that_was_mended_wrongly_may_be_mended_again() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "limits.memory: must be greater than or equal to the request")
    lab.client.refuse = lambda call: malformed if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    for number in range(2):
        await lab.relabels(number=str(number))
        await lab.settles()
        assert (await lab.phase(), (await lab.status())["reason"]) == ("Failed", "ChildRejected")

    lab.client.refuse = lambda _: None
    await lab.relabels(mended="yes")
    await lab.settles()
    await running_again(lab)

    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 4)
    assert not [
        each
        for each in (await lab.status())["conditions"]
        if each["type"] == "SpecIgnored" and each["status"] == "True"
    ]


async def test_a_job_that_a_policy_denies_from_the_start_takes_the_template_that_the_policy_wants() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    denied = await lab.status()

    lab.client.refuse = lambda _: None
    await lab.relabels(team="quantum")
    await running_again(lab)

    assert (denied["phase"], denied["reason"]) == ("Pending", "ChildRejected")
    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 1)
    assert len(await lab.cluster.list(Resource.PODS, "lab", {"team": "quantum"})) == 2


async def test_a_refused_child_is_tried_at_once_when_the_spec_changes() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    await lab.applies()
    await lab.settles()
    lab.client.refuse = lambda _: None

    await lab.edits(runPolicy={"backoffLimit": 5})
    await lab.settles()

    assert len(lab.pods) == 2


async def test_an_edit_moves_every_condition_of_ours_and_none_of_others() -> None:
    lab = await complete(Lab())
    theirs = {
        "type": "Scanned",
        "status": "True",
        "reason": "Clean",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    lab.cluster.store.update(
        Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["status"]["conditions"].append(theirs)
    )
    await lab.edits(runPolicy={"ttlSecondsAfterFinished": 600})
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: job["metadata"].update(generation=2))
    await lab.settles()

    conditions = (await lab.status())["conditions"]
    assert conditions[-1] == theirs
    ours = ("Running", "Trained", "Complete", "Reconciling")
    assert {c["type"]: c["observedGeneration"] for c in conditions[:-1]} == dict.fromkeys(ours, 2)


@pytest.mark.parametrize(
    "bypass",
    [
        lambda spec: spec["template"]["spec"]["containers"][0].update(args=["other"]),
        lambda spec: spec["template"]["spec"].update(serviceAccountName="other"),
    ],
)
async def test_a_template_that_was_changed_past_the_api_server_is_never_used(bypass: Callable[[Any], None]) -> None:
    lab = await running(Lab(), inference={})
    lab.cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, *KEY, lambda job: bypass(job["spec"]))
    await lab.settles()
    changed = await lab.condition("SpecIgnored")
    await lab.ends("qcnn-worker-1", 137)
    await lab.reaps()

    assert (changed["status"], changed["reason"]) == ("True", "ImmutableFieldChanged")
    assert lab.pods == ()
    assert (await lab.status())["reason"] == "SpecChanged"


async def test_a_gang_that_runs_is_not_failed_for_a_service_that_an_edited_spec_does_not_bring_back() -> None:
    """All replicas are ready meanwhile: `pendingDeadlineSeconds` is about those that are not."""
    lab = await running(Lab(), runPolicy={"pendingDeadlineSeconds": 60})
    template = await lab.relabels(other="yes")
    lab.cluster.remove(Resource.SERVICES, "lab", "qcnn-worker-1")
    await lab.settles()
    edited = await lab.status()
    await lab.settles_after(seconds=61)
    late = await lab.status()
    await lab.edits(template=template)
    await lab.settles()

    assert (edited["phase"], edited["ready"]) == ("Running", "2/2")
    assert (await lab.condition("SpecIgnored"))["status"] == "False"
    assert (late["phase"], await lab.phase()) == ("Running", "Running")
    assert "qcnn-worker-1" in lab.services
    assert lab.metrics.registry.get_sample_value("qtj_submit_to_running_seconds_count") == 1


async def test_an_evaluator_that_an_edited_spec_does_not_replace_leaves_the_gang_running() -> None:
    lab = await running(Lab(), replicaSpecs={"Worker": {"replicas": 2}, "Evaluator": {"replicas": 1}})
    await lab.relabels(other="yes")
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-evaluator-0")
    await lab.settles()

    assert (await lab.phase(), (await lab.condition("SpecIgnored"))["status"]) == ("Running", "True")
    assert "qcnn-evaluator-0" not in lab.pods


async def test_parameter_servers_without_a_worker_do_not_count_as_running() -> None:
    """The deadline then ends the job, which would hold its machines for ever."""
    lab = Lab()
    roles = {"Chief": {}, "PS": {"replicas": 1}, "Worker": {"replicas": 1}}
    await running(lab, strategy="ParameterServer", replicaSpecs=roles, runPolicy={"pendingDeadlineSeconds": 60})
    await lab.relabels(other="yes")
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-0")
    await lab.settles()
    changed = await lab.status()
    await lab.settles_after(seconds=61)

    assert (changed["phase"], changed["reason"]) == ("Pending", "SpecChanged")
    assert (await lab.status())["reason"] == "PendingDeadlineExceeded"


async def test_inference_never_takes_a_template_that_was_changed_after_the_start() -> None:
    lab = await running(Lab(), inference={})
    template = await lab.relabels(other="yes")
    await lab.trains()

    assert (await lab.condition("Complete"))["reason"] == "SpecChanged"
    assert lab.cluster.names(Resource.JOBS) == ()

    await lab.edits(template=template)
    await lab.settles()
    assert lab.cluster.names(Resource.JOBS) == ("qcnn-inference",)


async def test_an_inference_job_that_is_refused_waits_until_the_spec_is_edited() -> None:
    lab = Lab()
    malformed = ApiError(422, "Invalid", "no")
    lab.client.refuse = lambda call: malformed if call.startswith("create jobs") else None
    await running(lab, inference={})
    await lab.trains()
    waiting = await lab.status()

    lab.client.refuse = lambda _: None
    await lab.edits(inference={"args": ["infer", "--again"]})
    await lab.settles()

    assert (waiting["phase"], waiting["reason"], waiting["inference"]["phase"]) == (
        "Inferring",
        "ChildRejected",
        "Pending",
    )
    assert lab.cluster.names(Resource.JOBS) == ("qcnn-inference",)
