"""Deletes: the cluster in memory and a real API server answer alike."""

import pytest

from qtj_operator.controller.client import Client
from tests.controller.api_objects import (
    JOBS,
    PODS,
    SERVICES,
    found,
    pod,
    refusal,
    replacing,
    service,
    uid_of,
    version_of,
)
from tests.jobs import job_object


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
