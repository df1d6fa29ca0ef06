"""One pass whose children are refused, or whose names are taken: what is reported, and when it is tried again."""

from datetime import timedelta

import pytest

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import Lab, running
from tests.controller.refused_requests import POLICY, running_again


async def test_a_policy_that_denies_a_restart_puts_it_off_and_fails_nothing() -> None:
    lab = await running(Lab())
    lab.client.refuse = lambda call: POLICY if call.startswith("create pods") else None
    await lab.ends("qcnn-worker-1", 137)
    await lab.reaps()
    denied = await lab.condition("Running")
    for _ in range(60):
        await lab.settles_after(seconds=60)

    assert (await lab.phase(), denied["reason"]) == ("Pending", "ChildRejected")
    assert "refused by the ValidatingAdmissionPolicy maintenance" in denied["message"]

    lab.client.refuse = lambda _: None
    lab.waits(seconds=60)
    await running_again(lab)
    assert (await lab.phase(), (await lab.status())["restarts"]) == ("Running", 1)


@pytest.mark.parametrize("code", [400, 422])
async def test_once_an_attempt_has_run_no_answer_is_final(code: int) -> None:
    lab = await running(Lab())
    lab.client.refuse = lambda call: ApiError(code, "Invalid", "no") if call.startswith("create pods") else None
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await lab.settles()
    await lab.reaps()

    assert (await lab.status())["reason"] == "ChildRejected"
    assert await lab.phase() == "Pending"


async def test_a_denial_whose_words_change_costs_no_more_than_one_whose_words_stay() -> None:
    lab = Lab()
    numbers = iter(range(10_000))

    def refuse(call: str) -> ApiError | None:
        if not call.startswith("create pods"):
            return None
        return ApiError(400, "BadRequest", f'admission webhook "w" denied the request: request {next(numbers)}')

    lab.client.refuse = refuse
    await lab.applies()
    for _ in range(300):
        await lab.passes()
        lab.waits(seconds=1)

    creates = sum(call.startswith("create pods") for call in lab.client.calls)
    writes = sum(call.startswith("replace_status") for call in lab.client.calls)
    assert 5 <= creates <= 10
    assert writes <= 12


async def test_a_name_that_belongs_to_somebody_else_is_said_and_tried_again() -> None:
    lab = Lab()
    await lab.cluster.create(
        Resource.SERVICES, {"metadata": {"name": "qcnn-worker-1", "namespace": "lab"}, "spec": {"ports": []}}
    )
    await lab.applies()

    delay = await lab.settles()
    running_ = await lab.condition("Running")
    lab.client.calls.clear()
    again = await lab.settles()

    assert delay == again == timedelta(seconds=5)
    assert (running_["reason"], running_["message"]) == (
        "NameTaken",
        "Service qcnn-worker-1 exists and does not belong to this job: delete it, or give the job another name",
    )
    assert await lab.events() == ["NameTaken"]
    assert not any(call.startswith(("replace_status", "create events")) for call in lab.client.writes)
    assert lab.pods == (), "a pod would not find its peers"


async def test_a_job_goes_on_once_the_name_is_free() -> None:
    lab = Lab()
    await lab.cluster.create(Resource.PODS, {"metadata": {"name": "qcnn-worker-1", "namespace": "lab"}, "spec": {}})
    await lab.applies()
    await lab.settles()
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")

    await running_again(lab)

    assert await lab.phase() == "Running"


async def test_a_child_that_the_api_server_refuses_is_said_in_its_words() -> None:
    lab = Lab()
    forbidden = ApiError(403, "Forbidden", "exceeded quota: pods=1, used: pods=1")
    lab.client.refuse = lambda call: forbidden if call == "create pods qcnn-worker-1" else None
    await lab.applies()

    delay = await lab.settles()

    assert delay == timedelta(seconds=5)
    assert (await lab.condition("Running"))["message"] == (
        "Pod qcnn-worker-1 was refused by the API server: exceeded quota: pods=1, used: pods=1"
    )
    assert (await lab.status())["reason"] == "ChildRejected"
    assert lab.pods == ("qcnn-worker-0",)

    lab.client.refuse = lambda _: None
    await running_again(lab)

    assert await lab.phase() == "Running"


async def test_an_obstacle_postpones_no_deadline() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: ApiError(403, "Forbidden", "no") if call.startswith("create pods") else None
    await lab.applies(runPolicy={"activeDeadlineSeconds": 5})

    assert await lab.settles() == timedelta(seconds=5)
    await lab.settles_after(seconds=5)

    assert (await lab.condition("Failed"))["reason"] == "DeadlineExceeded"


@pytest.mark.parametrize("code", [400, 422])
async def test_a_child_that_no_api_server_takes_fails_the_job_until_its_template_is_changed(code: int) -> None:
    lab = Lab()
    malformed = ApiError(code, "Invalid", "spec.containers[0].resources.limits.memory: 8Gx is no quantity")
    lab.client.refuse = lambda call: malformed if call.startswith("create pods") else None
    await lab.applies()

    assert await lab.settles() is None

    assert (await lab.status())["reason"] == "ChildRejected"
    assert (await lab.condition("Failed"))["message"].endswith("8Gx is no quantity")
    assert await lab.events() == ["ChildRejected"]


async def test_a_gang_has_its_group_and_a_stranger_of_that_name_stands_in_the_way() -> None:
    lab = await Lab.applied(runPolicy={"schedulingPolicy": {"gang": True}})
    stranger = {"metadata": {"name": "qcnn", "namespace": "lab"}, "spec": {"minMember": 7}}
    await lab.cluster.create(Resource.POD_GROUPS, stranger)
    await lab.settles()
    blocked = await lab.status()

    lab.cluster.remove(Resource.POD_GROUPS, "lab", "qcnn")
    await lab.settles_after(seconds=15)

    assert blocked["reason"] == "NameTaken"
    (group,) = await lab.cluster.list(Resource.POD_GROUPS, "lab", {})
    assert group["spec"] == {"minMember": 2}
    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")
