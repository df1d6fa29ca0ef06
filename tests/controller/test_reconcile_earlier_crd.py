"""The CRD of the cluster is of an earlier version: the API server drops fields of the status that it does not know."""

from dataclasses import replace

from qtj_operator.controller.client import Object, Resource
from tests.controller.lab import Lab, complete, running
from tests.controller.memory import RecordingClient


class EarlierCrd(RecordingClient):
    """A cluster whose CRD has no status.specDigest."""

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        status = {name: value for name, value in obj["status"].items() if name != "specDigest"}
        return await super().replace_status(resource, {**obj, "status": status})


def lab_with_an_earlier_crd() -> Lab:
    lab = Lab()
    lab.client = EarlierCrd(lab.cluster)
    lab.reconciler = replace(lab.reconciler, client=lab.client)
    return lab


async def test_a_status_that_is_dropped_is_written_once_in_a_pass_and_not_at_once_again() -> None:
    lab = lab_with_an_earlier_crd()
    await running(lab)
    assert "specDigest" not in await lab.status()
    lab.client.calls.clear()

    delay = await lab.settles()

    assert delay is None, "nothing is due"
    assert lab.client.writes == ["replace_status quantumtrainingjobs qcnn"]


async def test_a_job_completes_all_the_same() -> None:
    lab = lab_with_an_earlier_crd()

    await complete(lab)

    assert await lab.phase() == "Complete"
