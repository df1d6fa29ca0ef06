"""The Job controller: one pod at a time, retries with growing delays, and an end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.local.jobs import JobController
from qtj.local.store import ClusterStore
from qtj_contract.timestamps import rfc3339
from qtj_operator.controller.client import Resource

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class World:
    """A Job, its controller, and a kubelet that ends pods on request."""

    def __init__(self, **spec: Any) -> None:
        self.now = NOON
        self.store = ClusterStore(lambda: self.now)
        self.controller = JobController(self.store, lambda: self.now)
        template = {"metadata": {"labels": {"app": "inference"}}, "spec": {"containers": [{"name": "trainer"}]}}
        meta = {"name": "inference", "namespace": "lab"}
        self.store.create(Resource.JOBS, {"metadata": meta, "spec": {**spec, "template": template}})

    def settles(self) -> None:
        while self.controller.step():
            pass

    @property
    def pods(self) -> list[dict[str, Any]]:
        return list(self.store.select(Resource.PODS, "lab", {}))

    @property
    def conditions(self) -> list[str]:
        status = self.store.find(Resource.JOBS, "lab", "inference").get("status", {})
        return [condition["type"] for condition in status.get("conditions", ())]

    def ends(self, code: int) -> None:
        """The pod that runs ends."""
        (pod,) = (pod for pod in self.pods if pod["status"]["phase"] == "Pending")
        terminated = {"exitCode": code, "finishedAt": rfc3339(self.now)}
        status = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{"name": "trainer", "state": {"terminated": terminated}}],
        }
        self.store.update(Resource.PODS, "lab", pod["metadata"]["name"], lambda obj: obj.update(status=status))
        self.settles()


@pytest.fixture
def world() -> World:
    world = World(backoffLimit=2)
    world.settles()
    return world


def test_a_job_has_one_pod_that_it_controls(world: World) -> None:
    (pod,) = world.pods

    assert pod["metadata"]["labels"] == {"app": "inference"}
    assert pod["metadata"]["ownerReferences"][0]["controller"]


def test_a_pod_that_succeeds_completes_the_job(world: World) -> None:
    world.ends(0)

    assert world.conditions == ["Complete"]
    assert len(world.pods) == 1


def test_a_pod_that_fails_is_replaced_after_ten_seconds(world: World) -> None:
    world.ends(1)

    assert (len(world.pods), world.controller.next_retry()) == (1, NOON + timedelta(seconds=10))
    world.now += timedelta(seconds=10)
    world.settles()
    assert len(world.pods) == 2


def test_a_pod_that_was_evicted_before_it_ran_is_replaced_too(world: World) -> None:
    name = world.pods[0]["metadata"]["name"]
    world.store.update(Resource.PODS, "lab", name, lambda pod: pod.update(status={"phase": "Failed"}))
    world.now += timedelta(seconds=10)
    world.settles()

    assert len(world.pods) == 2


def test_the_delay_doubles_until_the_limit_fails_the_job(world: World) -> None:
    delays = []
    for _ in range(2):
        world.ends(1)
        retry = world.controller.next_retry()
        assert retry is not None
        delays.append((retry - world.now).total_seconds())
        world.now = retry
        world.settles()
    world.ends(1)

    assert delays == [10, 20]
    assert world.conditions == ["Failed"]
    assert world.controller.next_retry() is None


def test_a_pod_that_was_deleted_is_replaced_at_once(world: World) -> None:
    world.store.remove(Resource.PODS, "lab", world.pods[0]["metadata"]["name"])
    world.settles()

    assert len(world.pods) == 1


def overdue(**spec: Any) -> World:
    """A Job whose time is up while its pod runs."""
    world = World(activeDeadlineSeconds=60, **spec)
    world.settles()
    world.store.update(
        Resource.PODS, "lab", world.pods[0]["metadata"]["name"], lambda pod: pod["spec"].update(nodeName="here")
    )
    world.now += timedelta(seconds=60)
    world.settles()
    return world


def test_a_job_whose_time_is_up_stops_its_pod_and_fails_once_that_is_gone() -> None:
    world = overdue()
    (pod,) = world.pods

    before = world.conditions
    world.store.remove(Resource.PODS, "lab", pod["metadata"]["name"])
    world.settles()

    assert "deletionTimestamp" in pod["metadata"]
    assert (before, world.conditions, world.pods) == ([], ["Failed"], [])
    assert (
        world.store.find(Resource.JOBS, "lab", "inference")["status"]["conditions"][0]["reason"] == "DeadlineExceeded"
    )


def test_a_job_is_given_all_of_its_time() -> None:
    world = World(activeDeadlineSeconds=60)
    world.settles()
    world.now += timedelta(seconds=59)
    world.settles()

    assert (world.conditions, "deletionTimestamp" in world.pods[0]["metadata"]) == ([], False)


def test_a_job_whose_time_is_up_tries_no_more() -> None:
    world = World(activeDeadlineSeconds=5, backoffLimit=2)
    world.settles()
    world.ends(137)
    world.now += timedelta(seconds=10)
    world.settles()

    assert (world.conditions, len(world.pods)) == (["Failed"], 1)


def test_a_failed_pod_that_somebody_deletes_is_in_nobodys_way() -> None:
    world = World()
    world.settles()
    for _ in range(2):
        world.ends(code=1)
        world.now += timedelta(minutes=6)
        world.settles()
    world.ends(code=1)
    world.store.delete(Resource.PODS, "lab", world.pods[0]["metadata"]["name"])
    world.now += timedelta(minutes=6)

    world.settles()

    assert [pod["status"]["phase"] for pod in world.pods].count("Pending") == 1
