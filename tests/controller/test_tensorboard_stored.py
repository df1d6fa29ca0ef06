"""TensorBoard on a real API server, which completes and rewrites what it stores."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.controller.act import act
from qtj_operator.controller.client import Client, Resource
from qtj_operator.controller.observe import observe
from qtj_operator.controller.observe_tensorboard import with_board
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.reconcile import utc_now
from qtj_operator.core.decision import Action, Create, Delete, Restore
from qtj_operator.core.observed import Observed
from qtj_operator.core.tensorboard import tensorboard
from tests.controller.api_objects import connected
from tests.controller.applied_jobs import applied
from tests.jobs import a_container, a_template, job_object
from tools.api_server import ApiServer

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = "qcnn-tensorboard"
DEMANDING: dict[str, Any] = {
    "tensorboard": {"resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2048Mi"}}},
    "artifacts": {"uri": "file:///mnt/lab/qcnn"},
    "template": a_template(
        a_container(volumeMounts=[{"name": "lab", "mountPath": "/mnt/lab/"}]),
        volumes=[{"name": "lab", "nfs": {"server": "nfs", "path": "/lab", "readOnly": None}}],
        securityContext={"fsGroup": 1000, "supplementalGroups": []},
    ),
}


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[Client]:
    real = connected(api_server.url, api_server.token)
    yield real
    await real.close()


async def seen(client: Client, server: ApiServer, namespace: str) -> Observed:
    """What a pass sees of the job, which has started."""
    raw = server.get("qtj", "qcnn", "-n", namespace)
    job = Job.parse({**raw, "status": {"attempt": 1}})
    return await with_board(client, await observe(client, NoProgress(), job, utc_now()))


async def does(client: Client, server: ApiServer, namespace: str) -> list[type[Action]]:
    """Does what a pass does about TensorBoard."""
    observed = await seen(client, server, namespace)
    actions = tensorboard(observed).actions
    assert await act(client, observed.job, actions) is None
    return [type(action) for action in actions]


@pytest.mark.parametrize("spec", [{"tensorboard": {}}, DEMANDING], ids=["plain", "demanding"])
async def test_what_the_api_server_makes_of_it_is_no_edit(
    client: Client, api_server: ApiServer, namespace: str, spec: dict[str, Any]
) -> None:
    applied(api_server, job_object(namespace=namespace, **spec))

    first = await does(client, api_server, namespace)
    second = await does(client, api_server, namespace)

    assert (first, second) == ([Create, Create], [])


async def test_an_edit_of_it_is_undone(client: Client, api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace, tensorboard={}))
    await does(client, api_server, namespace)
    where = ("-n", namespace)
    api_server.kubectl("scale", "deployment", BOARD, "--replicas=3", *where)
    api_server.kubectl("patch", "service", BOARD, "--type=merge", '--patch={"spec":{"type":"NodePort"}}', *where)

    repairs = await does(client, api_server, namespace)
    rest = await does(client, api_server, namespace)

    assert (repairs, rest) == ([Restore, Restore], [])
    assert api_server.get("deployment", BOARD, *where)["spec"]["replicas"] == 1
    assert api_server.get("service", BOARD, *where)["spec"]["type"] == "ClusterIP"


async def test_another_type_of_its_service_is_applied(client: Client, api_server: ApiServer, namespace: str) -> None:
    for service_type in ("ClusterIP", "NodePort", "LoadBalancer", "ClusterIP"):
        applied(api_server, job_object(namespace=namespace, tensorboard={"serviceType": service_type, "port": 80}))
        await does(client, api_server, namespace)

        assert await does(client, api_server, namespace) == []
        spec = api_server.get("service", BOARD, "-n", namespace)["spec"]
        assert (spec["type"], spec["ports"][0]["port"]) == (service_type, 80)


async def test_its_labels_its_nodes_and_the_annotations_of_its_service_are_no_edit(
    client: Client, api_server: ApiServer, namespace: str
) -> None:
    pod = {
        "labels": {"cost-center": "1"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
    }
    board = {**pod, "serviceAnnotations": {"lb/internal": "true"}}
    applied(api_server, job_object(namespace=namespace, tensorboard=board))
    await does(client, api_server, namespace)

    assert await does(client, api_server, namespace) == []
    template = api_server.get("deployment", BOARD, "-n", namespace)["spec"]["template"]
    assert template["metadata"]["labels"]["cost-center"] == "1"
    assert template["spec"]["tolerations"] == pod["tolerations"]
    assert api_server.get("service", BOARD, "-n", namespace)["metadata"]["annotations"] == {"lb/internal": "true"}


async def test_it_is_removed_with_the_field(client: Client, api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace, tensorboard={}))
    await does(client, api_server, namespace)
    api_server.kubectl("patch", "qtj", "qcnn", "--type=merge", '--patch={"spec":{"tensorboard":null}}', "-n", namespace)

    steps = [await does(client, api_server, namespace) for _ in range(3)]

    assert steps == [[Delete], [Delete], []]
    assert api_server.names("deployments", namespace) == []


async def test_its_pods_are_found_by_their_label(client: Client, api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace, tensorboard={}))
    await does(client, api_server, namespace)
    template = api_server.get("deployment", BOARD, "-n", namespace)["spec"]["template"]
    meta = {**template["metadata"], "name": "board-0", "namespace": namespace}
    await client.create(Resource.PODS, {"metadata": meta, "spec": template["spec"]})
    waiting = {"reason": "ImagePullBackOff", "message": ""}
    container = {"name": "tensorboard", "image": "x:1", "imageID": "", "ready": False, "restartCount": 0}
    status = {"containerStatuses": [{**container, "state": {"waiting": waiting}}]}
    api_server.set_status("pod", namespace, "board-0", status)

    board = (await seen(client, api_server, namespace)).board

    assert board is not None
    assert board.trouble == 'image "x:1" of board-0 cannot be pulled: check its name and whether the node may pull it'


@pytest.mark.parametrize(
    ("board", "sentence"),
    [
        ({"port": 0}, "spec.tensorboard.port in body should be greater than or equal to 1"),
        ({"port": 70000}, "spec.tensorboard.port in body should be less than or equal to 65535"),
        ({"image": "lab/Board:1"}, "this is no name of an image: write REGISTRY/NAME:TAG"),
        ({"image": ""}, "spec.tensorboard.image in body should be at least 1 chars long"),
        ({"serviceType": "ExternalName"}, 'spec.tensorboard.serviceType: Unsupported value: "ExternalName"'),
        ({"resources": {"limits": {"memory": "lots"}}}, "spec.tensorboard.resources.limits.memory in body"),
        ({"resources": {"limits": {"cpu": 0.5}}}, "spec.tensorboard.resources.limits.cpu"),
        ({"ports": 80}, 'unknown field "spec.tensorboard.ports"'),
    ],
)
def test_a_mistake_is_refused_by_the_api_server(
    api_server: ApiServer, namespace: str, board: dict[str, Any], sentence: str
) -> None:
    assert sentence in applied(api_server, job_object(namespace=namespace, tensorboard=board))


@pytest.mark.parametrize(
    "board",
    [
        {},
        {"image": "localhost:5000/lab/board@sha256:" + "0" * 64},
        {"resources": {"limits": {"cpu": 1}}},
        {"labels": {"a": "b"}, "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]},
    ],
)
def test_what_is_right_is_accepted(api_server: ApiServer, namespace: str, board: dict[str, Any]) -> None:
    assert "created" in applied(api_server, job_object(namespace=namespace, tensorboard=board))


def test_the_tensorboard_for_many_jobs_is_accepted(api_server: ApiServer, namespace: str) -> None:
    said = api_server.kubectl(
        "apply", "-n", namespace, "--dry-run=server", "--validate=strict", "-k", str(DEPLOY / "tensorboard")
    )

    assert said.count("created") == 5
