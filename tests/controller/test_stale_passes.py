"""Passes that decide on an old state: a job that has been replaced, a pod that is gone, a memory that is empty."""

import asyncio
import contextlib

import pytest

from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import ApiError, Key, Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.runtime import Runtime
from tests.controller.lab import KEY, Lab, complete, running
from tests.controller.memory import Cluster
from tests.controller.test_cached_passes import Watched

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS


async def owners(lab: Lab) -> set[str]:
    pods = await lab.cluster.list(PODS, "lab", {})
    return {owner["uid"] for pod in pods for owner in pod["metadata"]["ownerReferences"]}


async def settles_after_conflicts(lab: Lab) -> None:
    for _ in range(3):
        with contextlib.suppress(ApiError):
            await lab.settles()
    await lab.settles()


@pytest.mark.parametrize("passes", [0, 1, 2], ids=["before its first pass", "after a status", "after its pods"])
async def test_a_job_that_was_deleted_and_created_again_gets_pods_of_its_own(passes: int) -> None:
    lab = await Watched.applied()
    lab.hear()
    for _ in range(passes):
        await lab.passes()
    lab.stalled.add(JOBS)
    lab.cluster.remove(JOBS, *KEY)
    await lab.applies()

    await settles_after_conflicts(lab)

    assert await owners(lab) == {(await lab.job())["metadata"]["uid"]}
    assert len(lab.cluster.names(PODS)) == 2


async def test_a_job_that_was_suspended_after_it_was_read_loses_the_pods_that_it_was_given() -> None:
    lab = await Watched.applied()
    await lab.passes()
    lab.stalled.add(JOBS)
    await lab.edits(suspend=True)
    await lab.passes()
    assert len(lab.cluster.names(PODS)) == 2, "as the operator knows the job"

    lab.stalled.clear()
    lab.hear(everything=True)
    await settles_after_conflicts(lab)
    lab.kubelet.reaps()
    await settles_after_conflicts(lab)

    assert lab.cluster.names(PODS) == ()
    assert await lab.phase() == "Suspended"


async def test_a_pod_that_was_deleted_by_hand_is_replaced_once_its_end_is_known() -> None:
    lab = await running(Watched())
    lab.stalled.add(PODS)
    lab.cluster.remove(PODS, "lab", "qcnn-worker-1")
    await lab.settles()
    assert lab.client.writes[-1:] != ["create pods qcnn-worker-1"], "nobody has heard of it"

    lab.stalled.clear()
    lab.hear(everything=True)
    await lab.settles()

    assert (await lab.status())["attempt"] == 2
    assert "delete pods qcnn-worker-0" in lab.client.writes


async def test_nothing_is_kept_of_a_job_that_is_deleted_with_its_children() -> None:
    lab = await complete(Watched())

    lab.cluster.remove(JOBS, *KEY)
    assert await lab.passes() is None

    assert [lab.cache.select(resource, None, {}) for resource in CACHED] == [[]] * len(CACHED)
    assert lab.cache.lost_children == set()
    assert lab.cached.unconfirmed == {}


async def test_nothing_is_decided_before_everything_is_listed() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    looked = asyncio.Event()
    listed = asyncio.Event()

    async def reconcile(_: Key) -> None:
        looked.set()

    async def filled() -> None:
        await listed.wait()

    runtime = Runtime(Cluster(), reconcile, queue, None, jobs=Jobs(), metrics=Metrics(), filled=filled)
    queue.add(KEY)
    task = asyncio.create_task(runtime.run())
    for _ in range(100):
        await asyncio.sleep(0)
    early = looked.is_set()
    listed.set()
    await asyncio.wait_for(looked.wait(), timeout=20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert not early
