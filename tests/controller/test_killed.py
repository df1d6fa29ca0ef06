"""Programs that end with 0 because the kubelet has killed them, which only an event tells."""

from typing import Any

import pytest

from qtj_operator.controller.client import Resource
from tests.controller.lab import TRAINED, Lab, running

EVICTED = ("Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".')
KILLING = ("Killing", "Stopping container trainer")
UNHEALTHY = ("Killing", "Container trainer failed liveness probe, will be killed")


async def told(lab: Lab, *events: tuple[str, str], pod: str = "qcnn-worker-0", container: str = "trainer") -> None:
    """The kubelet writes events about a container of a pod."""
    uid = (await lab.cluster.get(Resource.PODS, "lab", pod) or {})["metadata"]["uid"]
    about = {"kind": "Pod", "name": pod, "uid": uid, "fieldPath": f"spec.containers{{{container}}}"}
    for number, (reason, message) in enumerate(events):
        meta = {"name": f"{pod}.{number}", "namespace": "lab"}
        event = {"metadata": meta, "involvedObject": about, "reason": reason, "message": message}
        await lab.cluster.create(Resource.EVENTS, event)


async def ended(lab: Lab, pod: str = "qcnn-worker-0", *says: Any) -> dict[str, Any]:
    """The program of a pod ends with 0; returns the status."""
    await lab.ends(pod, 0, *says)
    return await lab.status()


@pytest.mark.parametrize(
    ("events", "reason"),
    [((KILLING, EVICTED), "Evicted"), ((KILLING,), "Killed"), ((UNHEALTHY,), "Killed")],
    ids=["evicted", "stopped", "unhealthy"],
)
async def test_a_leader_that_was_killed_has_not_trained_and_this_counts(
    events: tuple[tuple[str, str], ...], reason: str
) -> None:
    lab = await running(Lab(), artifacts={"uri": "gs://lab/qcnn", "weights": "gs://lab/qcnn/w.h5"})
    await told(lab, *events)

    status = await ended(lab)

    assert (status["phase"], status["attempt"], status["restarts"]) == ("Restarting", 2, 1)
    (failure,) = status["failures"]
    assert (failure["reason"], failure["message"]) == (reason, events[-1][1].rstrip("."))


async def test_a_program_that_names_its_weights_has_done_its_work() -> None:
    lab = await running(Lab())
    await told(lab, KILLING)

    assert (await ended(lab, "qcnn-worker-0", TRAINED))["weights"] is not None


async def test_the_end_of_a_helper_does_not_matter() -> None:
    lab = await running(Lab())
    await told(lab, KILLING, container="shipper")

    assert (await ended(lab))["phase"] == "Complete"


async def test_a_worker_is_asked_for_where_it_counts() -> None:
    one, all_of_them = Lab(), Lab()
    await running(one)
    await running(all_of_them, runPolicy={"successPolicy": "AllWorkers"})
    for lab in (one, all_of_them):
        await told(lab, KILLING, pod="qcnn-worker-1")

    assert (await ended(one, "qcnn-worker-1"))["attempt"] == 1
    assert (await ended(all_of_them, "qcnn-worker-1"))["attempt"] == 2


async def test_each_pod_is_asked_for_once() -> None:
    lab = await running(Lab(), runPolicy={"successPolicy": "AllWorkers"})
    lab.kubelet.ends("qcnn-worker-0", 0)
    lab.client.calls.clear()
    for _ in range(3):
        await lab.settles()

    assert len([call for call in lab.client.calls if call.startswith("list events")]) == 1
