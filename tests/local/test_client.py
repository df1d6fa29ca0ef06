"""The controller's client on a cluster in memory: what the operator asks of it, and what it is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest

from qtj.local.store import ClusterStore, MemoryClient
from qtj_operator.controller.client import ApiError, Resource

PODS = Resource.PODS


@pytest.fixture
def store() -> ClusterStore:
    store = ClusterStore(lambda: datetime(2030, 1, 1, tzinfo=UTC))
    store.create(PODS, {"metadata": {"name": "it", "namespace": "lab", "labels": {"a": "b"}}, "spec": {"x": 1}})
    return store


@pytest.fixture
def client(store: ClusterStore) -> MemoryClient:
    return MemoryClient(store)


def found(store: ClusterStore) -> dict[str, Any]:
    return store.find(PODS, "lab", "it")


async def test_what_is_not_there_is_none(client: MemoryClient) -> None:
    assert await client.get(PODS, "lab", "other") is None
    assert await client.get(PODS, None, "it") is None
    assert await client.get(Resource.SERVICES, "lab", "it") is None


async def test_what_is_there_is_read_and_listed(client: MemoryClient, store: ClusterStore) -> None:
    assert await client.get(PODS, "lab", "it") == found(store)
    assert await client.list(PODS, "lab", {"a": "b"}) == [found(store)]
    assert await client.list(PODS, None, {"a": "c"}) == []


async def test_what_is_created_is_there(client: MemoryClient, store: ClusterStore) -> None:
    await client.create(PODS, {"metadata": {"name": "new", "namespace": "lab"}, "spec": {}})

    assert store.find(PODS, "lab", "new")["status"] == {"phase": "Pending"}
    with pytest.raises(ApiError, match="already exists"):
        await client.create(PODS, {"metadata": {"name": "new", "namespace": "lab"}, "spec": {}})


async def test_a_patch_changes_what_its_paths_name(client: MemoryClient, store: ClusterStore) -> None:
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/spec/x", "value": 1},
        {"op": "add", "path": "/spec/x", "value": 2},
        {"op": "add", "path": "/metadata/labels/c", "value": "d"},
    ]
    await client.patch(PODS, "lab", "it", operations)

    assert (found(store)["spec"], found(store)["metadata"]["labels"]) == ({"x": 2}, {"a": "b", "c": "d"})


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "path": "/spec/x", "value": 5}, "/spec/x is not 5"),
        ({"op": "test", "path": "/spec/y", "value": 1}, "/spec/y is not 1"),
        ({"op": "add", "path": "/spec/deep/er", "value": 1}, "/spec/deep/er does not exist"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(
    client: MemoryClient, store: ClusterStore, operation: dict[str, Any], why: str
) -> None:
    before = found(store)

    with pytest.raises(ApiError, match=why) as refused:
        await client.patch(PODS, "lab", "it", [{"op": "add", "path": "/spec/z", "value": 1}, operation])

    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert found(store) == before


async def test_what_is_gone_is_deleted_already(client: MemoryClient) -> None:
    await client.delete(PODS, "lab", "it", "1")
    await client.delete(PODS, "lab", "it", "1")

    assert await client.get(PODS, "lab", "it") is None


async def test_what_has_changed_since_is_not_deleted(client: MemoryClient, store: ClusterStore) -> None:
    store.update(PODS, "lab", "it", lambda pod: pod["spec"].update(x=2))

    with pytest.raises(ApiError, match="precondition") as refused:
        await client.delete(PODS, "lab", "it", "1")

    assert refused.value.code == 409
    assert found(store)["spec"] == {"x": 2}


async def test_a_kubelet_is_overruled_by_force_alone(client: MemoryClient, store: ClusterStore) -> None:
    store.update(PODS, "lab", "it", lambda pod: pod["spec"].update(nodeName="node"))
    await client.delete(PODS, "lab", "it", found(store)["metadata"]["resourceVersion"])
    assert "deletionTimestamp" in found(store)["metadata"]

    await client.delete(PODS, "lab", "it", found(store)["metadata"]["resourceVersion"], force=True)

    assert await client.get(PODS, "lab", "it") is None


async def test_a_status_is_replaced_and_nothing_else(client: MemoryClient, store: ClusterStore) -> None:
    await client.replace_status(PODS, {**found(store), "spec": {"x": 9}, "status": {"phase": "Running"}})

    assert (found(store)["spec"], found(store)["status"]) == ({"x": 1}, {"phase": "Running"})
