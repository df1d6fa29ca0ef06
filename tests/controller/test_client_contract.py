"""What the controller relies on in a cluster: the one in memory and a real API server answer alike."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Client, Object, Resource
from qtj_operator.controller.metrics import Metrics
from tests.controller.apiserver import ApiServer, free_port
from tests.controller.memory import Cluster
from tests.jobs import job_object

JOBS, PODS, SERVICES, EVENTS = (
    Resource.QUANTUM_TRAINING_JOBS,
    Resource.PODS,
    Resource.SERVICES,
    Resource.EVENTS,
)
PORT = {"name": "grpc", "port": 2222, "targetPort": 2222, "protocol": "TCP"}


def connected(url: str, token: str) -> ApiClient:
    settings = kubernetes.Configuration(host=url)
    settings.verify_ssl = False
    settings.api_key["BearerToken"] = f"Bearer {token}"
    settings.retries = None
    return ApiClient(kubernetes.ApiClient(settings), Metrics(lambda: 0))


@pytest.fixture(params=["memory", "kube-apiserver"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    if request.param == "memory":
        yield Cluster()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    real = connected(server.url, server.token)
    yield real
    await real.close()


@pytest.fixture
def lab(request: pytest.FixtureRequest, client: Client) -> str:
    """An empty namespace."""
    return "lab" if isinstance(client, Cluster) else str(request.getfixturevalue("namespace"))


def service(namespace: str, name: str = "a", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [PORT]},
    }


def pod(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"containers": [{"name": "trainer", "image": "train:1"}], **spec},
    }


def event(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, "labels": {"many": "yes"}},
        "involvedObject": {"namespace": namespace},
    }


async def found(client: Client, resource: Resource, namespace: str, name: str) -> Object:
    there = await client.get(resource, namespace, name)
    assert there is not None
    return there


async def refusal(request: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        await request
    return refused.value.code, refused.value.reason


async def test_an_object_that_is_not_there_is_none(client: Client, lab: str) -> None:
    assert await client.get(SERVICES, lab, "nobody") is None
    assert await client.get(JOBS, lab, "nobody") is None


async def test_a_created_object_is_there_with_an_identity(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))

    job = await found(client, JOBS, lab, "qcnn")
    assert job["spec"] == job_object()["spec"]
    assert job["metadata"]["generation"] == 1
    assert job["metadata"]["uid"]
    assert job["metadata"]["resourceVersion"]


async def test_a_name_is_taken_once(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))

    assert await refusal(client.create(SERVICES, service(lab))) == (409, "AlreadyExists")


async def test_the_same_name_is_free_in_another_kind(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab, "a"))
    await client.create(PODS, pod(lab))

    assert (await found(client, PODS, lab, "a"))["spec"]["containers"][0]["image"] == "train:1"


async def test_a_new_pod_is_pending(client: Client, lab: str) -> None:
    await client.create(PODS, {**pod(lab), "status": {"phase": "Succeeded"}})

    assert (await found(client, PODS, lab, "a"))["status"]["phase"] == "Pending"


async def test_nobody_is_born_with_a_status(client: Client, lab: str) -> None:
    await client.create(JOBS, {**job_object(namespace=lab), "status": {"phase": "Complete"}})

    # The CRD has this default for programs that wait for a job; the cluster in memory applies no defaults.
    unseen = {"observedGeneration": -1}
    assert (await found(client, JOBS, lab, "qcnn")).get("status", unseen) == unseen


async def test_a_list_holds_what_carries_all_labels(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab, "both", job="qcnn", role="worker"))
    await client.create(SERVICES, service(lab, "one", job="qcnn"))
    await client.create(SERVICES, service(lab, "other", job="other", role="worker"))

    async def names(**labels: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in await client.list(SERVICES, lab, labels))

    assert await names(job="qcnn", role="worker") == ["both"]
    assert await names(job="qcnn") == ["both", "one"]
    assert await names() == ["both", "one", "other"]
    assert await names(job="nobody") == []


async def test_a_list_is_of_one_namespace_or_of_all(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab, "listed", unique=lab))

    assert [item["metadata"]["namespace"] for item in await client.list(SERVICES, None, {"unique": lab})] == [lab]
    assert await client.list(SERVICES, "default", {"unique": lab}) == []


async def test_a_list_is_whole_however_long_it_is(client: Client, lab: str) -> None:
    limit = asyncio.Semaphore(50)

    async def create(number: int) -> None:
        async with limit:
            await client.create(EVENTS, event(lab, f"event-{number}"))

    await asyncio.gather(*(create(number) for number in range(505)))

    listed = await client.list(EVENTS, lab, {"many": "yes"})
    assert len({item["metadata"]["name"] for item in listed}) == len(listed) == 505


def replacing(version: str, **fields: Any) -> list[Object]:
    """The patch by which the operator brings fields of a spec back."""
    same = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    return [same, *({"op": "add", "path": f"/spec/{name}", "value": value} for name, value in fields.items())]


async def uid_of(client: Client, resource: Resource, namespace: str, name: str) -> str:
    uid: str = (await found(client, resource, namespace, name))["metadata"]["uid"]
    return uid


async def version_of(client: Client, resource: Resource, namespace: str, name: str) -> str:
    version: str = (await found(client, resource, namespace, name))["metadata"]["resourceVersion"]
    return version


async def test_a_patch_replaces_fields_as_a_whole(client: Client, lab: str) -> None:
    edited = service(lab)
    edited["spec"]["ports"] = [{**PORT, "port": 99}, {**PORT, "name": "mine", "port": 100}]
    edited["spec"]["selector"] = {"app": "a", "more": "x"}
    await client.create(SERVICES, edited)

    patch = replacing(await version_of(client, SERVICES, lab, "a"), ports=[PORT], selector={"app": "b"})
    await client.patch(SERVICES, lab, "a", patch)

    spec = (await found(client, SERVICES, lab, "a"))["spec"]
    assert spec["ports"] == [PORT]
    assert spec["selector"] == {"app": "b"}
    assert spec["clusterIP"] == "None", "what the patch does not name stays"


async def test_a_patch_adds_a_field_that_is_not_there(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))

    await client.patch(JOBS, lab, "qcnn", replacing(await version_of(client, JOBS, lab, "qcnn"), suspend=True))

    assert (await found(client, JOBS, lab, "qcnn"))["spec"]["suspend"] is True


async def test_a_patch_for_another_uid_changes_nothing(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))
    before = await found(client, SERVICES, lab, "a")

    assert await refusal(client.patch(SERVICES, lab, "a", replacing("another", selector={}))) == (422, "Invalid")
    assert await found(client, SERVICES, lab, "a") == before


async def test_a_patch_of_which_a_later_test_fails_changes_nothing(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))
    before = await found(client, SERVICES, lab, "a")
    patch = [*replacing(before["metadata"]["resourceVersion"], ports=[]), *replacing("another")]

    assert await refusal(client.patch(SERVICES, lab, "a", patch)) == (422, "Invalid")
    assert await found(client, SERVICES, lab, "a") == before


async def test_a_patch_into_what_is_not_there_is_refused(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))
    nowhere = [{"op": "add", "path": "/status/nothing/here", "value": 1}]

    assert await refusal(client.patch(SERVICES, lab, "a", nowhere)) == (422, "Invalid")


async def test_a_patch_to_what_is_there_already_changes_nothing(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))
    before = await found(client, SERVICES, lab, "a")

    await client.patch(SERVICES, lab, "a", replacing(before["metadata"]["resourceVersion"], ports=[PORT]))

    assert await found(client, SERVICES, lab, "a") == before


async def test_a_patch_creates_nothing(client: Client, lab: str) -> None:
    assert await refusal(client.patch(SERVICES, lab, "a", replacing("any", ports=[PORT]))) == (404, "NotFound")
    assert await refusal(client.patch(JOBS, lab, "qcnn", replacing("any", suspend=True))) == (404, "NotFound")


async def test_a_change_of_the_spec_is_a_new_generation(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    seen = []
    edits: tuple[dict[str, Any] | None, ...] = ({"suspend": True}, {"suspend": True}, None, {"inference": {}})
    for fields in edits:
        version = await version_of(client, JOBS, lab, "qcnn")
        patch = labelled() if fields is None else replacing(version, **fields)
        await client.patch(JOBS, lab, "qcnn", patch)
        seen.append((await found(client, JOBS, lab, "qcnn"))["metadata"]["generation"])

    assert seen == [2, 2, 2, 3]


def labelled() -> list[Object]:
    return [{"op": "add", "path": "/metadata/labels", "value": {"team": "quantum"}}]


async def test_every_change_is_a_new_version(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    versions = []
    for suspend in (True, True, False):
        await client.patch(JOBS, lab, "qcnn", replacing(await version_of(client, JOBS, lab, "qcnn"), suspend=suspend))
        versions.append(int((await found(client, JOBS, lab, "qcnn"))["metadata"]["resourceVersion"]))

    assert versions[0] == versions[1] < versions[2]


async def test_an_object_is_deleted_as_it_was_seen(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))

    await client.delete(SERVICES, lab, "a", await version_of(client, SERVICES, lab, "a"))

    assert await client.get(SERVICES, lab, "a") is None


async def test_an_object_that_took_the_name_since_is_spared(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))
    earlier = await found(client, SERVICES, lab, "a")
    await client.delete(SERVICES, lab, "a", earlier["metadata"]["resourceVersion"])
    await client.create(SERVICES, service(lab))

    code, reason = await refusal(client.delete(SERVICES, lab, "a", earlier["metadata"]["resourceVersion"]))

    assert (code, reason) == (409, "Conflict")
    assert await uid_of(client, SERVICES, lab, "a") != earlier["metadata"]["uid"]


async def test_an_object_that_has_changed_since_is_spared(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    earlier = await version_of(client, JOBS, lab, "qcnn")
    await client.patch(JOBS, lab, "qcnn", replacing(await version_of(client, JOBS, lab, "qcnn"), suspend=True))

    code, reason = await refusal(client.delete(JOBS, lab, "qcnn", earlier))

    assert (code, reason) == (409, "Conflict")
    assert (await found(client, JOBS, lab, "qcnn"))["spec"]["suspend"] is True


async def test_what_is_gone_counts_as_deleted(client: Client, lab: str) -> None:
    await client.delete(SERVICES, lab, "nobody", "1")

    assert await client.get(SERVICES, lab, "nobody") is None


async def test_a_pod_on_no_node_is_gone_at_once(client: Client, lab: str) -> None:
    await client.create(PODS, pod(lab))

    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"))

    assert await client.get(PODS, lab, "a") is None


async def test_a_pod_on_a_node_stays_until_the_kubelet_has_stopped_it(client: Client, lab: str) -> None:
    await client.create(PODS, pod(lab, nodeName="node-1"))

    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"))

    assert "deletionTimestamp" in (await found(client, PODS, lab, "a"))["metadata"]


async def test_a_pod_that_is_being_deleted_keeps_the_moment_it_was_given(client: Client, lab: str) -> None:
    await client.create(PODS, pod(lab, nodeName="node-1"))

    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"))
    first = await found(client, PODS, lab, "a")
    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"))

    assert await found(client, PODS, lab, "a") == first
    assert first["metadata"]["deletionTimestamp"] > first["metadata"]["creationTimestamp"]


async def test_a_pod_on_a_node_that_says_nothing_is_removed_by_force(client: Client, lab: str) -> None:
    await client.create(PODS, pod(lab, nodeName="node-1"))
    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"))

    await client.delete(PODS, lab, "a", await version_of(client, PODS, lab, "a"), force=True)

    assert await client.get(PODS, lab, "a") is None


async def test_force_spares_what_has_changed_as_well(client: Client, lab: str) -> None:
    await client.create(PODS, pod(lab, nodeName="node-1"))
    before = int(await version_of(client, PODS, lab, "a")) - 1

    code, reason = await refusal(client.delete(PODS, lab, "a", str(before), force=True))

    assert (code, reason) == (409, "Conflict")
    assert "deletionTimestamp" not in (await found(client, PODS, lab, "a"))["metadata"]


@pytest.mark.parametrize("force", [False, True])
async def test_what_has_a_finalizer_stays_until_that_is_gone(client: Client, lab: str, *, force: bool) -> None:
    held = job_object(namespace=lab)
    held["metadata"]["finalizers"] = ["example.com/backup"]
    await client.create(JOBS, held)

    await client.delete(JOBS, lab, "qcnn", await version_of(client, JOBS, lab, "qcnn"), force=force)
    meta = (await found(client, JOBS, lab, "qcnn"))["metadata"]
    await client.patch(JOBS, lab, "qcnn", [{"op": "add", "path": "/metadata/finalizers", "value": []}])

    assert "deletionTimestamp" in meta
    assert await client.get(JOBS, lab, "qcnn") is None


async def test_a_new_object_says_since_when_it_is_there(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))

    created = (await found(client, SERVICES, lab, "a"))["metadata"]["creationTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created)


async def test_a_status_is_stored_and_nothing_else_with_it(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    before = await found(client, JOBS, lab, "qcnn")

    spec = {**before["spec"], "inference": {"args": ["smuggled"]}}
    await client.replace_status(JOBS, {**before, "spec": spec, "status": {"phase": "Running", "attempt": 1}})

    after = await found(client, JOBS, lab, "qcnn")
    assert after["status"] == {"phase": "Running", "attempt": 1}
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == 1
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]


async def test_a_status_replaces_the_one_before(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    for status in ({"phase": "Running", "attempt": 1}, {"phase": "Failed"}):
        await client.replace_status(JOBS, {**await found(client, JOBS, lab, "qcnn"), "status": status})

    assert (await found(client, JOBS, lab, "qcnn"))["status"] == {"phase": "Failed"}


async def test_a_status_on_stale_data_is_refused(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    stale = await found(client, JOBS, lab, "qcnn")
    await client.replace_status(JOBS, {**stale, "status": {"attempt": 1}})

    assert await refusal(client.replace_status(JOBS, {**stale, "status": {"attempt": 2}})) == (409, "Conflict")
    assert (await found(client, JOBS, lab, "qcnn"))["status"] == {"attempt": 1}


async def test_a_status_that_is_there_already_is_no_new_version(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    await client.replace_status(JOBS, {**await found(client, JOBS, lab, "qcnn"), "status": {"attempt": 1}})
    before = await found(client, JOBS, lab, "qcnn")

    await client.replace_status(JOBS, before)

    assert await found(client, JOBS, lab, "qcnn") == before


async def test_a_status_of_an_object_that_is_gone_is_refused(client: Client, lab: str) -> None:
    gone = {**job_object(namespace=lab), "status": {"attempt": 1}}
    gone["metadata"] = {"name": "qcnn", "namespace": lab, "resourceVersion": "1"}

    code, reason = await refusal(client.replace_status(JOBS, gone))

    assert (code, reason) == (404, "NotFound")


async def test_a_status_of_an_earlier_object_of_the_same_name_is_refused(client: Client, lab: str) -> None:
    await client.create(JOBS, job_object(namespace=lab))
    earlier = await found(client, JOBS, lab, "qcnn")
    await client.delete(JOBS, lab, "qcnn", earlier["metadata"]["resourceVersion"])
    await client.create(JOBS, job_object(namespace=lab))

    code, reason = await refusal(client.replace_status(JOBS, {**earlier, "status": {"attempt": 1}}))

    assert (code, reason) == (409, "Conflict")


def test_the_history_tells_what_changed_since_a_version() -> None:
    """In memory alone: the operator leaves the watches of a real API server to kopf."""
    store = Cluster().store
    store.create(SERVICES, service("lab"))
    since = store.version

    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))
    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))
    store.delete(SERVICES, "lab", "a")

    told = store.changes(since)
    assert [(change.type, change.object["spec"]["selector"]["app"]) for change in told] == [
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    assert [change.version for change in told] == [since + 1, since + 2]
    assert store.changes(store.version) == []


def test_a_history_that_no_longer_reaches_back_says_so() -> None:
    """In memory alone: a real API server forgets after minutes, when it likes."""
    store = Cluster().store
    for number in range(1001):
        store.create(EVENTS, event("lab", f"event-{number}"))

    with pytest.raises(ApiError, match="too old resource version") as refused:
        store.changes(0)

    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    assert len(store.changes(1)) == 1000


def test_a_change_that_was_told_stays_as_it_was_told() -> None:
    store = Cluster().store
    store.create(SERVICES, service("lab"))
    (created,) = store.changes(0)

    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))

    assert created.object["spec"]["selector"] == {"app": "a"}
    assert created.object["metadata"]["resourceVersion"] == "1"


def test_a_cluster_can_be_seen_as_it_was() -> None:
    store = Cluster().store
    store.create(SERVICES, service("lab"))
    store.create(SERVICES, service("lab", "b"))
    then, before = store.version, list(store.select(SERVICES, None, {}))
    store.delete(SERVICES, "lab", "a")
    store.update(SERVICES, "lab", "b", lambda obj: obj["spec"].update(ports=[]))

    assert list(store.as_of(then).select(SERVICES, None, {})) == before


def test_what_belongs_to_an_object_goes_with_it() -> None:
    """In memory alone: for a real API server this is the work of the controller manager."""
    store = Cluster().store
    store.create(JOBS, job_object())
    uid = store.find(JOBS, "lab", "qcnn")["metadata"]["uid"]
    for name in ("unbound", "bound"):
        owned = pod("lab", **({"nodeName": "node-1"} if name == "bound" else {}))
        owned["metadata"] |= {"name": name, "ownerReferences": [{"uid": uid, "controller": True}]}
        store.create(PODS, owned)
    store.create(PODS, pod("lab"))

    store.delete(JOBS, "lab", "qcnn")

    left = {found["metadata"]["name"]: found["metadata"] for found in store.select(PODS, None, {})}
    assert sorted(left) == ["a", "bound"]
    assert "deletionTimestamp" in left["bound"], "its kubelet stops it first"


def test_what_is_born_an_orphan_goes_too() -> None:
    store = Cluster().store
    store.create(JOBS, job_object())
    uid = store.find(JOBS, "lab", "qcnn")["metadata"]["uid"]
    store.delete(JOBS, "lab", "qcnn")
    late = service("lab")
    late["metadata"]["ownerReferences"] = [{"uid": uid, "controller": True}]

    store.create(SERVICES, late)

    assert list(store.select(SERVICES, None, {})) == []


def test_what_has_another_owner_left_stays() -> None:
    store = Cluster().store
    for name in ("one", "other"):
        store.create(SERVICES, service("lab", name))
    owners = [{"uid": found["metadata"]["uid"]} for found in store.select(SERVICES, None, {})]
    shared = pod("lab")
    shared["metadata"]["ownerReferences"] = owners
    store.create(PODS, shared)

    store.delete(SERVICES, "lab", "one")
    after_one = len(list(store.select(PODS, None, {})))
    store.delete(SERVICES, "lab", "other")

    assert after_one == 1
    assert list(store.select(PODS, None, {})) == []


async def test_an_object_that_breaks_a_rule_is_refused_for_good(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, api_server.token)
    bad = service(namespace)
    bad["spec"]["ports"] = [{"port": 0}]

    with pytest.raises(ApiError, match=r"spec.ports\[0\].port: Invalid value: 0") as refused:
        await client.create(SERVICES, bad)
    await client.close()

    assert refused.value.final


async def test_a_misspelt_field_is_refused_and_not_dropped(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, api_server.token)
    bad = service(namespace)
    bad["spec"]["selecter"] = {}

    with pytest.raises(ApiError, match=r'unknown field "spec.selecter"') as refused:
        await client.create(SERVICES, bad)
    await client.close()

    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


async def test_a_server_out_of_reach_is_an_error_that_may_pass() -> None:
    client = connected(f"https://127.0.0.1:{free_port()}", "any")

    with pytest.raises(ApiError, match="the API server cannot be reached") as refused:
        await client.get(SERVICES, "lab", "a")
    await client.close()

    assert refused.value.code == 0
    assert not refused.value.final


async def test_a_server_that_does_not_know_us_says_so(api_server: ApiServer, namespace: str) -> None:
    client = connected(api_server.url, "a stranger's")

    code, _ = await refusal(client.get(SERVICES, namespace, "a"))
    await client.close()

    assert code == 401


async def test_a_node_belongs_to_no_namespace(client: Client, request: pytest.FixtureRequest) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-of-nobody"}}
    if isinstance(client, Cluster):
        await client.create(Resource.NODES, node)
    else:
        request.getfixturevalue("api_server").kubectl("create", "-f", "-", manifest=node)

    there = await client.get(Resource.NODES, None, "node-of-nobody")

    assert there is not None
    assert there["metadata"]["name"] == "node-of-nobody"
    assert await client.get(Resource.NODES, None, "another") is None
