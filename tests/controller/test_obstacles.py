"""What stands in the way of one child says nothing untrue of the rest of the job, and ends nothing that is well."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.controller.client import ApiError, Object, Resource
from tests.controller.lab import KEY, MEASURED, Lab, running
from tests.controller.memory import RecordingClient

FORBIDDEN = ApiError(403, "Forbidden", "services \"x\" is forbidden: ValidatingAdmissionPolicy 'frozen' denied request")
EDITED: dict[str, Any] = {"selector": {}, "ports": []}


async def test_a_refused_deletion_takes_the_end_of_a_job_not_back() -> None:
    lab = await running(Lab(), inference={}, runPolicy={"ttlSecondsAfterFinished": 60})
    await lab.trains()
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)
    await lab.settles()
    before = await lab.status()
    lab.client.refuse = lambda call: FORBIDDEN if call.startswith("delete") else None

    await lab.settles_after(seconds=61)

    after = await lab.status()
    assert (after["phase"], after["completionTime"]) == ("Complete", before["completionTime"])


async def test_a_refused_deletion_of_what_is_left_changes_nothing_about_the_end() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: FORBIDDEN if call.startswith("delete") else None
    await running(lab, runPolicy={"cleanPodPolicy": "All"})
    await lab.trains()
    ended = await lab.status()
    lab.client.calls.clear()
    for _ in range(60):
        await lab.settles_after(seconds=60)

    assert (ended["phase"], await lab.status()) == ("Complete", ended)
    assert sum(call.startswith("delete") for call in lab.client.calls) <= 120
    assert "ChildRejected" in await lab.events()


@pytest.mark.parametrize("call", ["patch services", "create services"])
async def test_a_service_that_cannot_be_brought_back_ends_no_job_that_runs(call: str) -> None:
    lab = await running(Lab(), runPolicy={"pendingDeadlineSeconds": 600})
    lab.client.refuse = lambda asked: FORBIDDEN if asked.startswith(call) else None
    if call.startswith("create"):
        lab.cluster.remove(Resource.SERVICES, "lab", "qcnn-worker-0")
    else:
        lab.cluster.edit(Resource.SERVICES, "lab", "qcnn-worker-0", spec=EDITED)
    for _ in range(30):
        await lab.settles()
        lab.waits(seconds=60)
    await lab.settles()

    assert await lab.phase() == "Running"


class Busy(RecordingClient):
    """A cluster in which somebody else edits a Service whenever it is about to be repaired."""

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        self.inner.edit(resource, namespace, name, spec={**EDITED, "sessionAffinity": str(len(self.calls))})
        return await super().patch(resource, namespace, name, operations)


async def test_a_service_that_changes_under_a_repair_is_looked_at_again() -> None:
    lab = await Lab.settled()
    before = await lab.status()
    lab.cluster.edit(Resource.SERVICES, "lab", "qcnn-worker-0", spec=EDITED)
    busy = replace(lab.reconciler, client=Busy(lab.cluster))

    with pytest.raises(ApiError, match="has changed since"):
        await busy.reconcile(KEY)

    assert await lab.status() == before


async def test_a_repair_that_the_server_calls_invalid_fails_no_job() -> None:
    lab = await Lab.settled()
    before = await lab.status()
    invalid = ApiError(422, "Invalid", 'Service "qcnn-worker-0" is invalid: spec.ports: Required value')
    lab.client.refuse = lambda call: invalid if call.startswith("patch services") else None
    lab.cluster.edit(Resource.SERVICES, "lab", "qcnn-worker-0", spec=EDITED)
    await lab.settles()

    assert await lab.status() == before
    assert await lab.events() == ["ChildRejected"], "and not that it was repaired"


async def test_a_member_that_is_deleted_while_a_repair_is_refused_restarts_the_gang() -> None:
    lab = await running(Lab())
    lab.client.refuse = lambda asked: FORBIDDEN if asked.startswith("patch services") else None
    lab.cluster.edit(Resource.SERVICES, "lab", "qcnn-worker-0", spec=EDITED)
    await lab.settles()
    lab.cluster.remove(Resource.PODS, "lab", "qcnn-worker-1")
    await lab.settles()

    assert (await lab.status())["attempt"] == 2


async def test_a_parameter_server_worker_that_cannot_be_replaced_ends_no_job() -> None:
    lab = Lab()
    roles = {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}}
    await running(lab, strategy="ParameterServer", replicaSpecs=roles, runPolicy={"pendingDeadlineSeconds": 600})
    lab.client.refuse = lambda asked: FORBIDDEN if asked.startswith("create pods") else None
    await lab.ends("qcnn-worker-1", 137)
    lab.kubelet.reaps()
    for _ in range(30):
        await lab.settles()
        lab.waits(seconds=60)
    await lab.settles()

    assert await lab.phase() == "Running"


async def test_an_evaluator_that_is_refused_ends_no_training() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: FORBIDDEN if call == "create pods qcnn-evaluator-0" else None
    roles = {"Worker": {"replicas": 2}, "Evaluator": {}}
    await running(lab, replicaSpecs=roles, runPolicy={"pendingDeadlineSeconds": 600})
    for _ in range(30):
        await lab.settles_after(seconds=60)

    assert await lab.phase() == "Running"
    assert "ChildRejected" in await lab.events()


async def test_what_waits_to_be_tried_again_is_not_told_in_every_pass() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: FORBIDDEN if call == "create pods qcnn-evaluator-0" else None
    await running(lab, replicaSpecs={"Worker": {"replicas": 2}, "Evaluator": {}})
    lab.client.calls.clear()
    for _ in range(10):
        await lab.passes()

    assert list(lab.client.writes) == []
