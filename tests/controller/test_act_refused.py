"""Actions that are refused: the obstacle is named, and what belongs to others is left alone."""

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.controller.act import act
from qtj_operator.controller.client import ApiError, Resource
from qtj_operator.core.decision import Create, Delete, Kind
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.queueing import pod_group
from tests.controller.children import JOB, PODS, SERVICES, inference
from tests.controller.memory import Cluster, RecordingClient
from tests.jobs import a_job


def stranger(manifest: Manifest) -> Manifest:
    """The same object, without an owner."""
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": []}}


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


async def test_a_refused_delete_is_an_obstacle_before_anything_is_created() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(403, "Forbidden", "no") if "delete" in call else None)

    obstacle = await act(client, JOB, [Delete(Kind.POD, "qcnn-worker-0", "u"), Create.of(PODS[1])])

    assert obstacle == Obstacle(Reason.CHILD_REJECTED, "Pod qcnn-worker-0 cannot be deleted: no", kind=Delete)
    assert client.inner.names(Resource.PODS) == ()


def _owner(uid: str) -> dict[str, object]:
    return {"uid": uid, "controller": True}


async def test_a_cluster_without_pod_groups_is_named_as_such() -> None:
    client = RecordingClient(Cluster(), lambda call: ApiError(404, "NotFound", "no") if "podgroups" in call else None)

    obstacle = await act(client, JOB, [Create.of(PODS[0]), Create.of(pod_group(JOB))])

    assert obstacle is not None
    assert "which this cluster does not serve: enable those of Kubernetes" in obstacle.message
    assert client.writes == ["create podgroups qcnn"]
