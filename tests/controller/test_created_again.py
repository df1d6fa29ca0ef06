"""A job that is deleted and created again at once, while the pods of the earlier one still end."""

from qtj_operator.api.names import KIND, child_labels
from qtj_operator.controller.client import Resource
from tests.controller.lab import Lab, running

WORKERS = ("qcnn-worker-0", "qcnn-worker-1")


async def left(lab: Lab, resource: Resource, *names: str, job: str = "qcnn") -> None:
    """An earlier job of that name was deleted, and the garbage collector has not removed these children yet."""
    owner = {"apiVersion": "v1", "kind": KIND, "name": job, "uid": "earlier", "controller": True}
    for name in names:
        meta = {"name": name, "namespace": "lab", "labels": child_labels(job), "ownerReferences": [owner]}
        spec = {"containers": [{"name": "trainer", "image": "i"}]} if resource is Resource.PODS else {}
        await lab.cluster.create(resource, {"metadata": meta, "spec": spec})


def ends(lab: Lab, resource: Resource, *names: str) -> None:
    for name in names:
        lab.cluster.remove(resource, "lab", name)


async def test_it_says_what_it_waits_for_and_starts_at_once_when_that_is_gone() -> None:
    lab = Lab()
    await left(lab, Resource.PODS, *WORKERS)
    await lab.applies()
    await lab.settles()

    waiting = await lab.condition("Running")
    why = "of an earlier job of this name still ends: this job starts when the name is free"
    assert (waiting["reason"], waiting["message"]) == ("Terminating", f"qcnn-worker-0 and 1 more {why}")
    assert not any(call.startswith("create pods") for call in lab.client.calls)

    ends(lab, Resource.PODS, *WORKERS)
    await lab.settles()
    assert lab.pods == WORKERS
    assert (await lab.condition("Running"))["reason"] == "Starting"


async def test_a_service_of_the_earlier_job_is_waited_for_too() -> None:
    lab = Lab()
    await left(lab, Resource.SERVICES, "qcnn-worker-1")
    await lab.applies()
    await lab.settles()

    assert (await lab.condition("Running"))["reason"] == "Terminating"
    ends(lab, Resource.SERVICES, "qcnn-worker-1")
    await lab.settles()
    assert lab.pods == WORKERS


async def test_a_replica_that_the_new_job_does_not_have_is_not_waited_for() -> None:
    lab = Lab()
    await left(lab, Resource.PODS, "qcnn-worker-2")
    await lab.applies()
    await lab.settles()

    assert set(lab.pods) == {*WORKERS, "qcnn-worker-2"}


async def test_what_belongs_to_another_job_or_to_nobody_has_the_name_for_good() -> None:
    lab = Lab()
    await left(lab, Resource.PODS, "qcnn-worker-0", job="qcnn-worker")
    await lab.applies()
    await lab.settles()

    assert (await lab.condition("Running"))["reason"] == "NameTaken"
    orphan = Lab()
    meta = {"name": "qcnn-worker-0", "namespace": "lab", "labels": child_labels("qcnn")}
    await orphan.cluster.create(Resource.PODS, {"metadata": meta, "spec": {"containers": []}})
    await orphan.applies()
    await orphan.settles()

    assert (await orphan.condition("Running"))["reason"] == "NameTaken"


async def test_a_child_that_is_not_watched_says_the_same() -> None:
    """The inference Job, for one, is only met when it is created."""
    lab = await running(Lab(), inference={})
    await left(lab, Resource.JOBS, "qcnn-inference")
    await lab.trains()

    waiting = await lab.condition("Complete")
    assert (waiting["reason"], waiting["message"]) == (
        "Terminating",
        "Job qcnn-inference of an earlier job of this name still ends: this job waits for it",
    )
