"""Whether a namespace is being deleted is asked where pods of a gang that runs are deleted, and only there."""

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import Lab, running

ASKED = "get namespaces lab"


async def loses_a_pod(lab: Lab, phase: str) -> None:
    """All run, and then somebody deletes a pod, in a namespace of this phase."""
    await running(lab)
    await lab.cluster.create(
        Resource.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
    )
    lab.cluster.edit(Resource.NAMESPACES, "", "lab", status={"phase": phase})
    assert ASKED not in lab.client.calls
    pod = await lab.cluster.get(Resource.PODS, "lab", "qcnn-worker-1")
    assert pod is not None
    await lab.cluster.delete(Resource.PODS, "lab", "qcnn-worker-1", pod["metadata"]["resourceVersion"])
    await lab.passes()


async def test_a_job_of_a_namespace_that_is_being_deleted_gets_no_next_attempt() -> None:
    lab = Lab()
    await loses_a_pod(lab, "Terminating")

    assert (await lab.status())["attempt"] == 1
    assert (await lab.status())["reason"] == "Terminating"
    lab.client.calls.clear()
    await lab.reaps()
    assert [call for call in lab.client.writes if "pods" in call] == []


async def test_one_of_another_namespace_does() -> None:
    lab = Lab()
    await loses_a_pod(lab, "Active")

    assert (await lab.status())["attempt"] == 2
    assert lab.client.calls.count(ASKED) == 1


async def test_an_operator_that_may_not_read_namespaces_takes_it_for_a_disruption() -> None:
    lab = Lab()
    forbidden = ApiError(403, "Forbidden", "namespaces is forbidden")
    lab.client.refuse = lambda call: forbidden if call == ASKED else None
    await loses_a_pod(lab, "Terminating")

    assert (await lab.status())["attempt"] == 2
