"""A gang of more than a hundred, whose pods come before the last of its Services."""

from qtj_operator.controller.client import ApiError, Resource
from tests.controller.lab import Lab
from tests.controller.refused_requests import fails_at

SIZE = 105
LAST = "create services qcnn-worker-104"
QUOTA = ApiError(403, "Forbidden", "exceeded quota: services")


async def a_gang() -> Lab:
    lab = Lab()
    await lab.applies(replicaSpecs={"Worker": {"replicas": SIZE}})
    return lab


async def test_a_pass_that_breaks_off_between_pods_and_services_is_completed_by_the_next() -> None:
    lab = await a_gang()
    await fails_at(lab, LAST)
    there = lab.cluster.names(Resource.PODS)

    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()

    assert len(there) == SIZE
    assert lab.cluster.names(Resource.SERVICES) == there
    assert len([call for call in lab.client.writes if call.startswith("create pods")]) == SIZE
    assert await lab.phase() == "Running"


async def test_a_gang_whose_last_service_is_refused_does_not_count_as_running_until_it_is_there() -> None:
    lab = await a_gang()
    lab.client.refuse = lambda call: QUOTA if call == LAST else None
    await lab.settles()
    lab.kubelet.starts()
    await lab.settles()
    blocked = await lab.condition("Running")

    lab.client.refuse = lambda _: None
    lab.waits(minutes=10)
    await lab.settles()

    assert (blocked["status"], blocked["reason"]) == ("False", "ChildRejected")
    assert "Service qcnn-worker-104 was refused by the API server: exceeded quota" in blocked["message"]
    assert await lab.phase() == "Running"
