"""Passes after the user has changed the spec before all replicas ran, which the API server allows while it may."""

from collections.abc import Callable
from typing import Any

import pytest

from qtj_contract import Progress
from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import TRAINED, WEIGHTS, Lab
from tests.controller.refused_requests import CONFLICT, JOB_STATUS, QUOTA, fails_at, running_again

ARTIFACTS = {"uri": "gs://lab-bucket/qcnn"}


def admits(*pods: str) -> Callable[[str], ApiError | None]:
    """A quota that has room for some of the pods."""
    return lambda call: QUOTA if call.startswith("create pods") and not call.endswith(pods) else None


async def half_a_gang(**spec: Any) -> Lab:
    """A job of two workers, one of which has no room."""
    lab = Lab()
    lab.client.refuse = admits("worker-0")
    await lab.applies(**spec)
    await lab.settles()
    status = await lab.status()
    assert (status["phase"], status["reason"], lab.pods) == ("Pending", "ChildRejected", ("qcnn-worker-0",))
    return lab


async def asks_for_less(lab: Lab) -> None:
    await lab.relabels(size="small")


async def starts_anew(lab: Lab) -> None:
    lab.client.refuse = lambda _: None
    await lab.settles()
    lab.kubelet.reaps()
    await running_again(lab)


async def small(lab: Lab) -> int:
    return len(await lab.cluster.list(Resource.PODS, "lab", {"size": "small"}))


async def test_a_gang_of_which_a_quota_admits_a_part_takes_the_template_that_fits() -> None:
    lab = await half_a_gang()

    await asks_for_less(lab)
    await starts_anew(lab)

    assert (await lab.phase(), (await lab.status())["attempt"], await small(lab)) == ("Running", 2, 2)
    assert lab.metrics.registry.get_sample_value("qtj_submit_to_running_seconds_count") == 1


async def test_nobody_is_told_to_put_back_a_change_that_is_used() -> None:
    lab = await half_a_gang()

    await asks_for_less(lab)
    await starts_anew(lab)

    assert "SpecIgnored" not in [each["type"] for each in (await lab.status())["conditions"]]
    assert {"ImmutableFieldChanged", "SpecChanged"}.isdisjoint(await lab.events())


async def test_a_change_that_comes_while_the_rest_of_the_gang_is_admitted_is_used_as_well() -> None:
    """The status still said that a pod was refused, so the API server took the change."""
    lab = await half_a_gang()
    lab.waits(seconds=5)
    await fails_at(lab, JOB_STATUS, CONFLICT)
    admitted = lab.pods

    await asks_for_less(lab)
    await starts_anew(lab)

    assert admitted == ("qcnn-worker-0", "qcnn-worker-1")
    assert (await lab.phase(), await small(lab)) == ("Running", 2)


async def is_kept(lab: Lab, reason: str = "SpecChanged") -> bool:
    """The change is not used, and the job says so."""
    pods = lab.pods
    await asks_for_less(lab)
    await lab.settles()
    status = await lab.status()
    ignored = (await lab.condition("SpecIgnored"))["status"] == "True"
    return (lab.pods, status["reason"], status["attempt"], ignored) == (pods, reason, 1, True)


@pytest.mark.parametrize("progress", [Progress(epoch=0, step=40), Progress(epoch=7)], ids=str)
@pytest.mark.parametrize("recorded", [True, False])
async def test_replicas_that_train_without_those_that_are_refused_are_left_alone(
    progress: Progress, *, recorded: bool
) -> None:
    lab = await half_a_gang()
    await lab.starts()
    lab.progress.leader = progress
    lab.waits(seconds=60)
    if recorded:
        await lab.settles()

    assert await is_kept(lab)


@pytest.mark.parametrize("code", [0, 137])
async def test_replicas_that_have_ended_are_left_alone(code: int) -> None:
    """A failure is counted, and weights are kept."""
    lab = await half_a_gang(runPolicy={"successPolicy": "AllWorkers"})
    await lab.starts()
    lab.kubelet.ends("qcnn-worker-0", code, None if code else TRAINED)

    await asks_for_less(lab)
    await lab.settles()

    status = await lab.status()
    assert (status.get("weights", {}).get("uri"), [each["exitCode"] for each in status.get("failures", ())]) == (
        (None, [137]) if code else (WEIGHTS.uri, [])
    )
    assert status["reason"] in {"SpecChanged", "Restarting"}
    assert await small(lab) == 0


async def test_a_gang_that_runs_although_no_status_says_so_is_left_alone() -> None:
    lab = await half_a_gang()
    lab.waits(seconds=5)
    await fails_at(lab, JOB_STATUS, CONFLICT)
    lab.kubelet.starts()

    assert await is_kept(lab, "AllReplicasReady")


async def test_parameter_servers_that_may_train_are_left_alone_until_the_job_is_suspended() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: QUOTA if call.endswith("pods qcnn-worker-1") else None
    roles = {"Chief": {}, "PS": {"replicas": 1}, "Worker": {"replicas": 2}}
    await lab.applies(strategy="ParameterServer", replicaSpecs=roles)
    await lab.settles()
    await lab.starts()
    kept = await is_kept(lab)

    await lab.edits(suspend=True)
    await lab.settles()
    await lab.reaps()
    await lab.edits(suspend=False)
    await starts_anew(lab)

    assert kept
    assert (await lab.phase(), await small(lab)) == ("Running", 4)


async def test_a_mistake_does_not_fail_a_job_that_may_train() -> None:
    lab = await half_a_gang(strategy="None")
    await lab.starts()

    await lab.edits(artifacts={"uri": "file:///nowhere"})
    await lab.settles()

    assert (await lab.phase(), lab.pods) == ("Pending", ("qcnn-worker-0",))


async def test_what_has_trained_is_remembered_in_later_attempts() -> None:
    lab = await half_a_gang(runPolicy={"successPolicy": "AllWorkers"})
    await lab.starts()
    await lab.ends("qcnn-worker-0", 0, TRAINED)
    await asks_for_less(lab)
    await lab.edits(suspend=True)
    await lab.settles()
    await lab.reaps()
    await lab.edits(suspend=False)
    await lab.settles()

    assert ((await lab.status())["reason"], await small(lab)) == ("SpecChanged", 0)


async def test_an_evaluator_that_has_ended_has_not_trained() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: QUOTA if call.endswith("pods qcnn-worker-1") else None
    await lab.applies(replicaSpecs={"Worker": {"replicas": 2}, "Evaluator": {}})
    await lab.settles()
    await lab.starts()
    await lab.ends("qcnn-evaluator-0", 0)
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-evaluator-0")
    await lab.settles()

    await asks_for_less(lab)
    await starts_anew(lab)

    assert (await lab.phase(), (await lab.status())["attempt"]) == ("Running", 2)


async def test_a_mended_spec_that_is_invalid_is_not_called_ignored_after_a_suspension() -> None:
    lab = await half_a_gang()
    await lab.edits(suspend=True, artifacts={"uri": "file:///nowhere"})
    await lab.settles()
    await lab.reaps()
    await lab.edits(suspend=False)
    await lab.settles()

    assert ((await lab.status())["reason"], (await lab.condition("Stalled"))["reason"]) == (
        "InvalidSpec",
        "InvalidSpec",
    )
    assert {"ImmutableFieldChanged", "SpecApplied"}.isdisjoint(await lab.events())


async def test_the_group_of_a_gang_that_grows_has_its_members_before_the_pods_are_there() -> None:
    """With the number before, the scheduler would place a part of it."""
    lab = await half_a_gang(runPolicy={"schedulingPolicy": {"gang": True}})

    await lab.edits(replicaSpecs={"Worker": {"replicas": 4}})
    await lab.settles()
    await lab.reaps()

    (group,) = await lab.cluster.list(Resource.POD_GROUPS, "lab", {})
    assert (group["spec"]["minMember"], (await lab.status())["reason"]) == (4, "ChildRejected")


async def test_the_group_of_a_gang_has_as_many_members_as_the_changed_spec() -> None:
    """With the number before, the scheduler would place none of them."""
    lab = Lab()
    lab.client.refuse = admits("worker-0", "worker-1")
    await lab.applies(replicaSpecs={"Worker": {"replicas": 4}}, runPolicy={"schedulingPolicy": {"gang": True}})
    await lab.settles()

    await lab.edits(replicaSpecs={"Worker": {"replicas": 2}})
    await lab.settles()
    await lab.reaps()

    (group,) = await lab.cluster.list(Resource.POD_GROUPS, "lab", {})
    assert (group["spec"]["minMember"], lab.pods) == (2, ("qcnn-worker-0", "qcnn-worker-1"))


async def test_a_spec_that_becomes_invalid_before_anything_ran_fails_the_job_until_it_is_valid() -> None:
    lab = await half_a_gang(runPolicy={"activeDeadlineSeconds": 3600})
    lab.client.refuse = lambda _: None
    await lab.edits(artifacts={"uri": "file:///nowhere"})
    await lab.settles()
    failed, stalled = await lab.status(), await lab.condition("Stalled")
    lab.waits(hours=2)

    await lab.edits(artifacts=ARTIFACTS)
    await starts_anew(lab)

    assert (failed["phase"], failed["reason"], stalled["reason"]) == ("Failed", "InvalidSpec", "InvalidSpec")
    assert (await lab.phase(), lab.pods) == ("Running", ("qcnn-worker-0", "qcnn-worker-1"))


async def test_the_deadline_for_pods_counts_from_the_change() -> None:
    lab = Lab()
    lab.client.refuse = admits("nobody")
    await lab.applies(runPolicy={"pendingDeadlineSeconds": 600})
    await lab.settles()
    lab.waits(seconds=598)
    await asks_for_less(lab)
    await lab.settles()
    await lab.settles_after(seconds=3)

    assert (await lab.phase(), (await lab.status())["reason"]) == ("Pending", "ChildRejected")


async def test_a_job_that_never_ran_says_so_in_a_later_attempt_too() -> None:
    lab = await half_a_gang(runPolicy={"pendingDeadlineSeconds": 600})
    await asks_for_less(lab)
    await lab.settles()
    await lab.reaps()
    waiting = await lab.status()
    await lab.settles_after(seconds=601)

    assert (waiting["phase"], waiting["attempt"]) == ("Pending", 2)
    assert (await lab.condition("Failed"))["reason"] == "PendingDeadlineExceeded"
    assert (await lab.condition("Running"))["reason"] == "NotStarted"
