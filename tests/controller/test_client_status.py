"""The status of an object: the cluster in memory and a real API server answer alike."""

from qtj_operator.controller.client import Client
from tests.controller.api_objects import JOBS, found, refusal
from tests.jobs import job_object


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
