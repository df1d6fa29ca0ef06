"""A job that waits for hours has an event at every moment of them: the API server keeps each for one hour."""

from dataclasses import replace
from datetime import datetime, timedelta

from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.job_memory import Jobs
from tests.controller.lab import Lab

RESYNC = timedelta(minutes=5)


async def events_of(lab: Lab) -> list[Object]:
    return list(await lab.cluster.list(Resource.EVENTS, "lab", {}))


async def test_a_job_without_a_node_is_told_of_before_its_last_event_is_gone() -> None:
    lab = await Lab.settled()
    no_room = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    lab.cluster.edit(Resource.PODS, "lab", "qcnn-worker-0", status={"phase": "Pending", "conditions": [no_room]})

    for number in range(60):
        await lab.settles()
        last = max(datetime.fromisoformat(event["lastTimestamp"]) for event in await events_of(lab))
        assert lab.now - last < timedelta(hours=1)
        if number % 20 == 0:  # another operator leads
            lab.reconciler = replace(lab.reconciler, jobs=Jobs())
        lab.now += RESYNC

    told = [event["message"] for event in await events_of(lab) if "has waited" in event["message"]]
    assert sorted(told) == sorted(
        f"has waited for {minutes} minutes: no node can run qcnn-worker-0: no room"
        for minutes in (50, 100, 150, 200, 250)
    )
