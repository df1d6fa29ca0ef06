"""The Events of a pass: written after the status, once each."""

from datetime import timedelta

from qtj_operator.api.conditions import Reason
from qtj_operator.controller.client import Resource
from qtj_operator.controller.events import emit
from qtj_operator.core.decision import Event
from tests.controller.lab import Lab, running
from tests.controller.refused_requests import CONFLICT, JOB_STATUS, UNAVAILABLE, fails_at


async def test_a_status_on_stale_data_is_refused_and_nothing_is_told() -> None:
    lab = await Lab.settled()
    lab.kubelet.starts()

    await fails_at(lab, JOB_STATUS, CONFLICT)

    assert await lab.events() == []
    assert await lab.phase() == "Pending"


async def test_what_was_not_told_is_told_when_the_status_is_written() -> None:
    lab = await Lab.settled()
    lab.kubelet.starts()
    await fails_at(lab, JOB_STATUS, CONFLICT)

    await lab.settles()
    await lab.settles()

    assert await lab.events() == ["AllReplicasReady"]


async def test_an_event_that_cannot_be_written_is_not_worth_another_pass() -> None:
    lab = Lab()
    lab.client.refuse = lambda call: UNAVAILABLE if "events" in call else None

    await running(lab)

    assert await lab.phase() == "Running"
    assert await lab.events() == []


async def test_an_event_says_who_what_and_when() -> None:
    lab = await running(Lab())

    (event,) = await lab.cluster.list(Resource.EVENTS, "lab", {})
    job = await lab.job()
    assert event["involvedObject"]["uid"] == job["metadata"]["uid"]
    assert (event["type"], event["reason"]) == ("Normal", "AllReplicasReady")
    assert event["firstTimestamp"] == "2030-01-01T12:00:00Z"
    assert event["source"] == {"component": "qtj-operator"}


async def test_an_event_that_was_written_is_not_written_again() -> None:
    lab = await running(Lab())
    said = Event("Warning", Reason.SERVICE_REPAIRED, "restored edited Services: qcnn-worker-0")

    for minute in range(3):
        await emit(lab.client, await lab.job(), said, lab.now + timedelta(minutes=minute))

    assert await lab.events() == ["AllReplicasReady", "ServiceRepaired"]


async def test_the_same_event_of_another_attempt_is_written() -> None:
    lab = await running(Lab())
    await lab.ends("qcnn-worker-1", 137)
    await lab.reaps()
    await lab.starts()

    assert await lab.events() == ["AllReplicasReady", "Restarting", "AllReplicasReady"]
