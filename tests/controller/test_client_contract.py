"""What the controller relies on in a cluster: the one in memory and a real API server answer alike."""

import asyncio
import re

import pytest

from qtj_operator.controller.client import Client, Resource
from tests.controller.api_objects import EVENTS, JOBS, PODS, SERVICES, event, found, pod, refusal, service
from tests.controller.memory import Cluster
from tests.jobs import job_object


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


async def test_events_are_found_by_what_they_are_about(client: Client, lab: str) -> None:
    about = await client.create(PODS, pod(lab))
    uid = about["metadata"]["uid"]
    for name, of in (("ours", uid), ("another", "0b5f8f4e")):
        written = event(lab, name)
        await client.create(EVENTS, {**written, "involvedObject": {**written["involvedObject"], "uid": of}})

    assert [each["metadata"]["name"] for each in await client.events_about(lab, uid)] == ["ours"]


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


async def test_a_new_object_says_since_when_it_is_there(client: Client, lab: str) -> None:
    await client.create(SERVICES, service(lab))

    created = (await found(client, SERVICES, lab, "a"))["metadata"]["creationTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created)


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
