"""Patches: the cluster in memory and a real API server answer alike."""

from typing import Any

from qtj_operator.controller.client import Client, Object
from tests.controller.api_objects import JOBS, PORT, SERVICES, found, refusal, replacing, service, version_of
from tests.jobs import job_object


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
