"""Carrying out actions: deletes, then Services, then everything else, and no request left behind."""

import asyncio
from collections.abc import Callable

import pytest

from qtj_operator.controller.act import act
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.core.decision import Action, Create, Delete, Kind, Restore
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from tests.controller.children import JOB, PODS, SERVICES, inference
from tests.controller.memory import Cluster, RecordingClient
from tests.controller.virtual_time import in_virtual_time, run
from tests.jobs import a_job


class SlowClient(RecordingClient):
    """A client that takes a second for each request and knows how many are under way."""

    def __init__(self, refuse: Callable[[str], ApiError | None] = lambda _: None) -> None:
        super().__init__(Cluster())
        self.slow_refuse = refuse
        self.under_way = 0
        self.most = 0
        self.ended: list[str] = []

    async def create(self, resource: Resource, manifest: Object) -> Object:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        name = manifest["metadata"]["name"]
        await asyncio.sleep(float(manifest["metadata"].get("annotations", {}).get("seconds", 1)))
        self.under_way -= 1
        self.ended.append(name)
        if error := self.slow_refuse(name):
            raise error
        return await super().create(resource, manifest)


def slow(manifest: Manifest, seconds: float) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {"seconds": str(seconds)}}}


async def test_deletes_come_first_then_services_then_everything_else() -> None:
    client = RecordingClient(Cluster())
    actions: list[Action] = [
        Create.of(PODS[0]),
        Create.of(inference()),
        Create.of(SERVICES[0]),
        Delete(Kind.POD, "old", "uid-1"),
        Create.of(SERVICES[1]),
    ]

    assert await act(client, JOB, actions) is None
    assert client.calls == [
        "delete pods old",
        "create services qcnn-worker-0",
        "create services qcnn-worker-1",
        "create pods qcnn-worker-0",
        "create jobs qcnn-inference",
    ]


def test_no_pod_is_requested_before_the_last_service_is_there() -> None:
    client = SlowClient()

    services = [Create.of(SERVICES[0]), Create.of(slow(SERVICES[1], 9)), Create.of(SERVICES[2])]
    run(act(client, JOB, [Create.of(PODS[0]), *services]))

    assert client.ended == ["qcnn-worker-0", "qcnn-worker-2", "qcnn-worker-1", "qcnn-worker-0"]
    assert client.calls[-1] == "create pods qcnn-worker-0"


@in_virtual_time
async def test_ever_more_requests_go_out_together_but_never_more_than_eight() -> None:
    client = SlowClient()
    job = a_job(workers=200)
    await act(client, job, [Create.of(replica_pod(job, replica, 1)) for replica in job.replicas()])

    assert asyncio.get_running_loop().time() == 3 + 1 + 2 + 4 + 8 + 10, (
        "1, 2 and 4 at once; then 8, 16, 32, 64 and the 73 that are left"
    )
    assert client.most == 8


async def test_what_has_changed_since_it_was_seen_is_spared_and_the_pass_is_repeated() -> None:
    cluster = Cluster()
    await cluster.create(Resource.PODS, PODS[0])
    await cluster.create(Resource.JOBS, inference())
    pod = await cluster.get(Resource.PODS, "lab", "qcnn-worker-0")
    assert pod is not None
    actions = [
        Delete(Kind.POD, "qcnn-worker-0", pod["metadata"]["resourceVersion"]),
        Delete(Kind.JOB, "qcnn-inference", "0"),
    ]

    with pytest.raises(ApiError, match="resourceVersion"):
        await act(cluster, JOB, actions)

    assert cluster.names(Resource.PODS) == ()
    assert cluster.names(Resource.JOBS) == ("qcnn-inference",)


async def test_a_service_is_brought_back_to_how_it_was_built() -> None:
    cluster = Cluster()
    await cluster.create(Resource.SERVICES, {**SERVICES[0], "spec": {"ports": [], "sessionAffinity": "None"}})

    (there,) = cluster.store.select(Resource.SERVICES, None, {})
    await act(
        cluster,
        JOB,
        [Restore(Kind.SERVICE, "qcnn-worker-0", there["metadata"]["resourceVersion"], SERVICES[0]["spec"])],
    )

    found = await cluster.get(Resource.SERVICES, "lab", "qcnn-worker-0")
    assert found is not None
    assert found["spec"] == {**SERVICES[0]["spec"], "sessionAffinity": "None"}


async def test_a_child_of_ours_that_is_there_already_is_fine() -> None:
    cluster = Cluster()
    await cluster.create(Resource.PODS, PODS[0])

    assert await act(cluster, JOB, [Create.of(PODS[0]), Create.of(PODS[1])]) is None
    assert cluster.names(Resource.PODS) == ("qcnn-worker-0", "qcnn-worker-1")


async def test_a_child_that_vanishes_as_we_look_is_fine_for_the_next_pass_creates_it() -> None:
    client = RecordingClient(Cluster(), lambda call: _exists() if call.startswith("create") else None)

    assert await act(client, JOB, [Create.of(PODS[0])]) is None


@pytest.mark.parametrize("code", [0, 404, 409, 429, 500, 503])
def test_a_busy_server_ends_the_pass_once_every_request_has_ended(code: int) -> None:
    client = SlowClient(lambda name: ApiError(code, "Busy", "later") if name == "qcnn-worker-0" else None)

    with pytest.raises(ApiError, match="later"):
        run(act(client, JOB, [Create.of(PODS[1]), Create.of(PODS[0]), Create.of(slow(PODS[2], 5))]))

    assert client.ended == ["qcnn-worker-1", "qcnn-worker-0", "qcnn-worker-2"]
    assert client.under_way == 0
    assert client.inner.names(Resource.PODS) == ("qcnn-worker-1", "qcnn-worker-2")


def test_after_an_error_the_next_stage_waits_for_the_next_pass() -> None:
    client = SlowClient(lambda name: ApiError(500, "Internal", "later") if name == "qcnn-worker-1" else None)

    with pytest.raises(ApiError):
        run(act(client, JOB, [Create.of(SERVICES[1]), Create.of(PODS[0])]))

    assert client.inner.names(Resource.PODS) == ()


async def test_a_delete_of_what_has_changed_since_ends_the_pass() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(409, "Conflict", "no") if "delete" in call else None)

    with pytest.raises(ApiError):
        await act(client, JOB, [Delete(Kind.POD, "qcnn-worker-0", "u"), Create.of(PODS[1])])


def _exists() -> ApiError:
    return ApiError(409, "AlreadyExists", "already exists")
