"""A user of one namespace who writes Services and Events that nobody can decode or hold: the jobs of others go on.

The API server keeps what a user writes as the record of who owns which field, 9,000 levels of it (Kubernetes 1.34).
"""

import json
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio import client as kubernetes

from qtj_operator.api.job import ReplicaId
from qtj_operator.api.limits import RAW_BYTES
from qtj_operator.api.names import GROUP, LABEL_EXPOSED, LABEL_JOB, Role
from qtj_operator.api.status import WeightsStatus
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.decode import decode, decode_child_event
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.trim import trimmed
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.probe import probe_pod
from tests.controller.api_objects import connected, pod, service
from tests.controller.test_reflector import LABELS, SERVICES, watching
from tests.controller.waiting import soon
from tests.jobs import a_job
from tools.api_server import ApiServer
from tools.background import free_port
from tools.served import served

JOB = a_job(workers=2, inference={})

OWNER = {"kind": "QuantumTrainingJob", "name": "qcnn", "uid": "u", "controller": True}


def nested(levels: int) -> str:
    return '{"f:a":' * levels + "{}" + "}" * levels


def deep(namespace: str, name: str, levels: int = 9000) -> bytes:
    """A Service whose record of owners has so many levels."""
    record = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "DEEP"}
    there = service(namespace, name, **LABELS)
    there["metadata"] |= {"managedFields": [record], "uid": name, "resourceVersion": "7"}
    return json.dumps(there).replace('"DEEP"', nested(levels)).encode()


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[ApiClient]:
    real = connected(api_server.url, api_server.token)
    yield real
    await real.close()


async def post(client: ApiClient, namespace: str, body: bytes) -> None:
    sender = client.transport.rest_client.pool_manager
    assert sender is not None, "an earlier request has opened the connection"
    headers = {
        "Content-Type": "application/json",
        "Authorization": client.transport.configuration.api_key["BearerToken"],
    }
    url = f"{client.transport.configuration.host}/api/v1/namespaces/{namespace}/services"
    async with sender.post(url, data=body, headers=headers) as answer:
        assert answer.status == 201, await answer.text()


def whole(namespace: str, name: str) -> bytes:
    """The Service as a user sends it."""
    return deep(namespace, name).replace(b', "uid": "%s", "resourceVersion": "7"' % name.encode(), b"")


async def test_a_service_that_cannot_be_decoded_ends_no_list_and_no_watch(client: ApiClient, namespace: str) -> None:
    await client.create(SERVICES, service(namespace, "a", **LABELS))  # which also opens the connection
    await post(client, namespace, whole(namespace, "listed"))
    async with watching(client, namespace) as seen:
        await soon(seen.is_("a", "listed"), "the list")
        await post(client, namespace, whole(namespace, "watched"))
        await client.create(SERVICES, service(namespace, "z", **LABELS))
        await soon(seen.is_("a", "listed", "watched", "z"), "what came after it", 5)


@pytest.mark.parametrize("levels", [1000, 9000, 100_000])
async def test_of_a_child_that_is_nested_too_deeply_only_the_identity_is_known(levels: int) -> None:
    text = deep("lab", "a", levels)
    event = await decode_child_event(b'{"type":"ADDED","object":' + text + b"}")

    assert event["type"] == "ADDED"
    for child in (event["object"], await decode(SERVICES, text)):
        kept = trimmed(SERVICES, child)["metadata"]
        assert (kept["name"], kept["uid"], kept["labels"]) == ("a", "a", LABELS)


@pytest.mark.parametrize(
    "more",
    [
        {"spec": {"ports": [{"name": f"p{number}", "port": number} for number in range(20_000)]}},
        {"metadata": {"labels": {LABEL_JOB: "qcnn", **{f"l{number}": "x" for number in range(50_000)}}}},
        {"metadata": {"ownerReferences": [OWNER] * 5_000}},
    ],
    ids=["ports", "labels", "owners"],
)
def test_of_a_large_child_little_is_kept(more: Mapping[str, Any]) -> None:
    child = service("lab", "a", **LABELS)
    child["metadata"] |= {"uid": "1", "resourceVersion": "7", "ownerReferences": [OWNER], **more.get("metadata", {})}
    child["spec"] |= more.get("spec", {})

    kept = trimmed(SERVICES, child)

    assert len(json.dumps(kept)) < 500
    assert kept["metadata"]["labels"] == LABELS
    assert is_controlled_by(kept, "u") == ("labels" in more.get("metadata", {})), "what is cut is nobody's child"


def selecting(size: int) -> Manifest:
    return {"spec": {"selector": {f"{number:x}": "" for number in range(size)}}}


def running(size: int) -> Manifest:
    return {"spec": {"containers": [{"name": f"c{number:x}"} for number in range(size)]}}


def owned(size: int) -> Manifest:
    """One character that is not ASCII makes each of a text four bytes long."""
    return {"metadata": {"ownerReferences": [OWNER | {"name": "a" * 10 * size + "\N{GRINNING FACE}"}]}}


@pytest.mark.parametrize(
    ("resource", "more"),
    [(SERVICES, selecting), (Resource.PODS, running), (SERVICES, owned)],
    ids=["labels", "containers", "text"],
)
def test_no_child_takes_more_memory_than_a_thousandth_of_what_the_operator_has(
    resource: Resource, more: Callable[[int], Manifest]
) -> None:
    def taken(size: int) -> float:
        fields = more(size)
        meta = {"name": "a", "namespace": "lab", "uid": "1", "resourceVersion": "7", "labels": LABELS}
        text = json.dumps({**fields, "metadata": meta | fields.get("metadata", {})})
        tracemalloc.start()
        kept = trimmed(resource, json.loads(text))
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept["metadata"]["name"] == "a"
        return taken / 1024

    assert max(map(taken, (3, 30, 100, 300, 1000, 3000, 8000))) < 128, "1,000 of them would fill 512 MiB soon"


@pytest.mark.parametrize("character", ["\1", "\N{GRINNING FACE}"])
def test_a_pod_with_the_longest_messages_is_kept(character: str) -> None:
    """A kubelet keeps 4,096 bytes of each, and 12 KiB of all."""
    longest = character * (4096 // len(character.encode()))
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": longest}}
    there = pod("lab", containers=[{"name": name} for name in "abc"])
    there["metadata"] |= {"uid": "1", "resourceVersion": "7", "ownerReferences": [OWNER]}
    there["status"] = {"phase": "Failed", "containerStatuses": [{"name": name, "state": ended} for name in "abc"]}

    assert trimmed(Resource.PODS, there)["status"] == there["status"]


async def test_of_large_events_about_a_pod_few_are_read() -> None:
    asked = list[int]()

    async def handle(request: web.Request) -> web.Response:
        asked.append(int(request.query["limit"]))
        events = [{"metadata": {"name": "e"}, "reason": "Killing", "message": "x" * 900_000}] * asked[-1]
        return web.json_response({"metadata": {"resourceVersion": "7", "continue": "more"}, "items": events})

    port = free_port()
    async with served(handle, port):
        settings = kubernetes.Configuration(host=f"http://127.0.0.1:{port}")
        client = ApiClient(kubernetes.ApiClient(settings), Metrics())
        events = await client.events_about("lab", "uid")
        await client.close()

    assert asked == [100, 25, 6, 1]
    assert [event["reason"] for event in events] == ["Killing"]
    assert len(json.dumps(list(events))) < RAW_BYTES


async def test_what_else_is_nested_too_deeply_is_known_by_its_identity() -> None:
    group = b'{"kind":"PodGroup","metadata":{"name":"a","resourceVersion":"7"},"spec":' + nested(9000).encode() + b"}"
    assert await decode(Resource.POD_GROUPS, group) == {
        "kind": "PodGroup",
        "metadata": {"name": "a", "resourceVersion": "7"},
    }


def inference_pod() -> Manifest:
    assert JOB.inference is not None
    job = inference_job(JOB, JOB.inference, WeightsStatus(uri="gs://lab-bucket/w", sha256="ab"))
    template: Manifest = job["spec"]["template"]
    return template


@pytest.mark.parametrize(
    "manifest",
    [
        replica_pod(JOB, ReplicaId(Role.WORKER, 1), 3),
        probe_pod(JOB, ReplicaId(Role.WORKER, 1), 3),
        inference_pod(),
    ],
    ids=["replica", "probe", "inference"],
)
def test_all_of_our_labels_that_a_pod_gets_are_kept(manifest: Manifest) -> None:
    """Labels of ours that only people and Services select by are the exception."""
    ours = {label for label in manifest["metadata"]["labels"] if label.startswith(GROUP)} - {LABEL_EXPOSED}
    kept = trimmed(Resource.PODS, {**manifest, "status": {}})

    assert ours <= kept["metadata"]["labels"].keys()
