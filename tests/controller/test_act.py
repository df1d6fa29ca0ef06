"""Carrying out actions: deletes, then Services, then everything else, and no request left behind."""

import asyncio
from collections.abc import Callable

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import WeightsStatus
from qtj_operator.controller.act import Obstacle, act
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.core.decision import Action, Create, Delete, Kind, Restore
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.queueing import pod_group
from qtj_operator.manifests.service import replica_service
from tests.controller.memory import Cluster, RecordingClient
from tests.controller.virtual_time import run
from tests.jobs import a_job

JOB = a_job(workers=3, inference={})
PODS = [replica_pod(JOB, replica, attempt=1) for replica in JOB.replicas()]
SERVICES = [replica_service(JOB, replica) for replica in JOB.replicas()]


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


def inference() -> Manifest:
    assert JOB.inference is not None
    return inference_job(JOB, JOB.inference, WeightsStatus(uri="gs://lab-bucket/w", sha256="ab"))


def stranger(manifest: Manifest) -> Manifest:
    """The same object, without an owner."""
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": []}}


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


def test_ever_more_requests_go_out_together_but_never_more_than_fifty() -> None:
    client = SlowClient()
    job = a_job(workers=200)

    async def story() -> float:
        await act(client, job, [Create.of(replica_pod(job, replica, 1)) for replica in job.replicas()])
        return asyncio.get_running_loop().time()

    assert run(story()) == 6 + 2 + 2, "1, 2, 4, ... 32 at once; 64, and the 73 that are left, in two turns each"
    assert client.most == 50


async def test_what_refuses_one_pod_is_not_asked_for_all_the_others() -> None:
    job = a_job(workers=200)
    pods = [Create.of(replica_pod(job, replica, 1)) for replica in job.replicas()]
    client = RecordingClient(Cluster(), lambda _: ApiError(403, "Forbidden", "exceeded quota"))

    obstacle = await act(client, job, pods)

    assert obstacle is not None
    assert "exceeded quota" in obstacle.message
    assert client.writes == ["create pods qcnn-worker-0"]


async def test_a_pod_without_its_label_is_an_obstacle_for_only_the_label_lets_us_find_it() -> None:
    cluster = Cluster()
    lost = {**PODS[0], "metadata": {**PODS[0]["metadata"], "labels": {}}}
    await cluster.create(Resource.PODS, lost)

    obstacle = await act(cluster, JOB, [Create.of(PODS[0])])

    assert obstacle is not None
    assert obstacle.reason == Reason.NAME_TAKEN
    assert "qcnn-worker-0 of this job has lost its label quantumtraining.dev/job=qcnn: put" in obstacle.message


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


@pytest.mark.parametrize("manifest", [PODS[0], SERVICES[0], inference()], ids=lambda manifest: str(manifest["kind"]))
async def test_an_object_of_somebody_else_is_left_alone_and_named(manifest: Manifest) -> None:
    cluster = Cluster()
    resource = {"Pod": Resource.PODS, "Service": Resource.SERVICES, "Job": Resource.JOBS}[manifest["kind"]]
    await cluster.create(resource, stranger(manifest))
    before = await cluster.list(resource, None, {})

    obstacle = await act(cluster, JOB, [Create.of(manifest)])

    assert obstacle == Obstacle(
        Reason.NAME_TAKEN,
        f"{manifest['kind']} {manifest['metadata']['name']} exists and does not belong to this job: "
        "delete it, or give the job another name",
    )
    assert await cluster.list(resource, None, {}) == before


async def test_an_object_of_an_earlier_job_of_the_same_name_is_somebody_elses() -> None:
    cluster = Cluster()
    other = {**PODS[0], "metadata": {**PODS[0]["metadata"], "ownerReferences": [_owner("another-uid")]}}
    await cluster.create(Resource.PODS, other)

    obstacle = await act(cluster, JOB, [Create.of(PODS[0])])

    assert obstacle is not None
    assert obstacle.reason == Reason.NAME_TAKEN


@pytest.mark.parametrize("code", [400, 403, 422])
async def test_a_child_that_can_only_be_refused_again_is_an_obstacle(code: int) -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(code, "Invalid", "no") if "pods" in call else None)

    obstacle = await act(client, JOB, [Create.of(PODS[0]), Create.of(SERVICES[0])])

    why = "Pod qcnn-worker-0 was refused by the API server: no"
    assert obstacle == Obstacle(Reason.CHILD_REJECTED, why, malformed=code != 403)


@pytest.mark.parametrize(
    ("code", "message", "who"),
    [
        (
            422,
            """pods "qcnn-worker-0" is forbidden: ValidatingAdmissionPolicy 'maintenance' with binding 'all' denied""",
            "the ValidatingAdmissionPolicy maintenance",
        ),
        (
            422,
            """pods "qcnn-worker-0" is forbidden: MutatingAdmissionPolicy 'labels' denied request: no""",
            "the MutatingAdmissionPolicy labels",
        ),
        (400, 'admission webhook "images.example.com" denied the request: timeout', "the webhook images.example.com"),
        (
            500,
            'Internal error occurred: failed calling webhook "mesh.example.com": refused',
            "the webhook mesh.example.com",
        ),
    ],
)
async def test_an_admission_plugin_is_named_and_never_final(code: int, message: str, who: str) -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(code, "Invalid", message) if "pods" in call else None)

    obstacle = await act(client, JOB, [Create.of(PODS[0])])

    why = f"Pod qcnn-worker-0 was refused by {who}: {message}"
    assert obstacle == Obstacle(Reason.CHILD_REJECTED, why)


async def test_a_proxy_that_answers_for_the_server_finds_no_fault_with_a_child() -> None:
    page = ApiError(400, "", "<html>400 Bad Request</html>")
    client = RecordingClient(Cluster(), lambda call: page if "pods" in call else None)

    obstacle = await act(client, JOB, [Create.of(PODS[0])])

    assert obstacle is not None
    assert not obstacle.malformed


async def test_after_an_obstacle_among_the_services_no_pod_is_created() -> None:
    cluster = Cluster()
    await cluster.create(Resource.SERVICES, stranger(SERVICES[1]))

    await act(cluster, JOB, [Create.of(SERVICES[0]), Create.of(SERVICES[1]), Create.of(PODS[0])])

    assert cluster.names(Resource.SERVICES) == ("qcnn-worker-0", "qcnn-worker-1")
    assert cluster.names(Resource.PODS) == ()


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


async def test_a_refused_delete_is_an_obstacle_before_anything_is_created() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(403, "Forbidden", "no") if "delete" in call else None)

    obstacle = await act(client, JOB, [Delete(Kind.POD, "qcnn-worker-0", "u"), Create.of(PODS[1])])

    assert obstacle == Obstacle(Reason.CHILD_REJECTED, "Pod qcnn-worker-0 cannot be deleted: no", kind=Delete)
    assert client.inner.names(Resource.PODS) == ()


async def test_a_delete_of_what_has_changed_since_ends_the_pass() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(409, "Conflict", "no") if "delete" in call else None)

    with pytest.raises(ApiError):
        await act(client, JOB, [Delete(Kind.POD, "qcnn-worker-0", "u"), Create.of(PODS[1])])


def _exists() -> ApiError:
    return ApiError(409, "AlreadyExists", "already exists")


def _owner(uid: str) -> dict[str, object]:
    return {"uid": uid, "controller": True}


async def test_a_cluster_without_pod_groups_is_named_as_such() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(404, "NotFound", "no") if "podgroups" in call else None)

    obstacle = await act(client, JOB, [Create.of(PODS[0]), Create.of(pod_group(JOB))])

    assert obstacle is not None
    assert "which this cluster does not serve: install the coscheduling plugin" in obstacle.message
    assert client.writes == ["create podgroups qcnn"]
