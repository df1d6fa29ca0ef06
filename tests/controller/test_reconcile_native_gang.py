"""A gang on a cluster that serves pod groups of Kubernetes itself, and on one that begins to."""

import pytest

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import Lab, restarted, running

GANG = {"schedulingPolicy": {"gang": True}}


def newer_cluster() -> Lab:
    lab = Lab()
    lab.cluster.unserved = frozenset()
    return lab


def groups(lab: Lab) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the groups of Kubernetes, and of those of the plugin."""
    return lab.cluster.names(Resource.NATIVE_POD_GROUPS), lab.cluster.names(Resource.POD_GROUPS)


async def named(lab: Lab) -> list[tuple[str | None, str | None]]:
    """The group of Kubernetes that each pod names, and that of the plugin."""
    return [
        (
            pod["spec"].get("schedulingGroup", {}).get("podGroupName"),
            pod["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group"),
        )
        for pod in await lab.cluster.list(Resource.PODS, "lab", {})
    ]


async def test_each_attempt_has_its_group_and_only_the_last_one_stays() -> None:
    lab = newer_cluster()
    await running(lab, runPolicy=GANG)
    assert (groups(lab), await named(lab)) == ((("qcnn-1",), ()), [("qcnn-1", None)] * 2)

    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)

    assert await lab.phase() == "Running"
    assert (groups(lab), await named(lab)) == ((("qcnn-2",), ()), [("qcnn-2", None)] * 2)


async def test_a_priority_that_is_edited_while_the_job_is_suspended_reaches_the_group() -> None:
    lab = newer_cluster()
    await lab.applies(runPolicy=GANG)
    await lab.settles()
    template = (await lab.job())["spec"]["template"]
    await lab.edits(suspend=True)
    await lab.settles()
    await lab.reaps()

    await lab.edits(suspend=False, template={"spec": {**template["spec"], "priorityClassName": "urgent"}})
    await lab.settles()

    found = await lab.cluster.list(Resource.NATIVE_POD_GROUPS, "lab", {})
    pods = await lab.cluster.list(Resource.PODS, "lab", {})
    assert [group["spec"].get("priorityClassName") for group in found] == ["urgent"]
    assert [pod["spec"].get("priorityClassName") for pod in pods] == ["urgent", "urgent"]
    assert {name for name, _ in await named(lab)} == {group["metadata"]["name"] for group in found}


async def test_a_gang_of_the_plugin_stays_one_when_the_cluster_begins_to_serve_its_own() -> None:
    lab = await running(Lab(), runPolicy=GANG)
    lab.cluster.unserved = frozenset()

    lab.kubelet.ends("qcnn-worker-1", 137)
    await restarted(lab)

    assert (groups(lab), await named(lab)) == (((), ("qcnn",)), [(None, "qcnn")] * 2)


async def test_an_operator_with_rights_from_before_says_so_and_takes_no_other_api() -> None:
    lab = newer_cluster()
    forbidden = ApiError(403, "Forbidden", "cannot list resource podgroups")
    lab.client.refuse = lambda call: forbidden if call == "list podgroups *" else None
    await lab.applies(runPolicy=GANG)
    for _ in range(3):
        with pytest.raises(ApiError):
            await lab.settles()
        lab.waits(minutes=1)

    assert "cannot list resource podgroups" in str((await lab.status())["conditions"])
    assert (groups(lab), await named(lab)) == (((), ()), [])

    lab.client.refuse = lambda _: None
    await lab.settles()
    assert (groups(lab), await named(lab)) == ((("qcnn-1",), ()), [("qcnn-1", None)] * 2)
