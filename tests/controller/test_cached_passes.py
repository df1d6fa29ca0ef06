"""A pass over a job whose objects are known costs no request, unless there is something to do."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.children import PodObject, ServiceObject
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.lab import KEY, MEASURED, Lab, complete, running

GANG = {"schedulingPolicy": {"gang": True}}


class Watched(Lab):
    """A lab whose operator reads what its watches have delivered: before each pass everything, unless they stall."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.handler = WatchHandler(self.cache, lambda _: None)
        self.cached = CachedClient(self.client, self.cache, lambda _: None)
        self.stalled: set[Resource] = set()
        self._heard = 0
        for resource in CACHED:
            self.handler.listed(resource, [], "0")
        self.reconciler = replace(self.reconciler, client=self.cached)

    async def passes(self) -> timedelta | None:
        self.hear()
        return await super().passes()

    def hear(self, *, everything: bool = False) -> None:
        """The watches deliver what has happened since they did so last, or list everything."""
        store = self.cluster.store
        try:
            changes = [] if everything else store.changes(self._heard)
        except ApiError:  # it has forgotten that much
            changes, everything = [], True
        if everything:
            for resource in CACHED:
                self.handler.listed(resource, list(store.select(resource, None, {})), str(store.version))
        for change in changes:
            if change.resource in CACHED and change.resource not in self.stalled:
                self.handler.changed(change.resource, change.type, change.object)
        self._heard = store.version

    @property
    def reads(self) -> list[str]:
        return [call for call in self.client.calls if call.startswith(("get", "list"))]


async def test_a_whole_life_reads_nothing_but_the_pods_of_an_inference_that_has_ended() -> None:
    lab = Watched()

    await complete(lab)

    assert await lab.phase() == "Complete"
    assert lab.reads == ["list pods *"]


@pytest.mark.parametrize("life", [running, complete], ids=["running", "complete"])
async def test_a_settled_job_costs_no_request(life: Callable[[Lab], Awaitable[None]]) -> None:
    lab = Watched()
    await life(lab)
    lab.client.calls.clear()

    await lab.settles()

    assert lab.client.calls == []


async def test_a_gang_that_is_placed_costs_no_request_either() -> None:
    lab = await running(Watched(), runPolicy=GANG)
    asked = lab.reads.count("list podgroups *")
    lab.client.calls.clear()

    await lab.settles()

    assert asked > 0, "while it waited for its nodes"
    assert lab.client.calls == []


async def test_a_job_that_is_gone_costs_no_request() -> None:
    lab = await running(Watched())
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.client.calls == []


async def test_a_gang_restarts_with_one_read_of_its_job_after_its_pods_are_gone() -> None:
    lab = await running(Watched())
    lab.client.calls.clear()

    lab.kubelet.ends("qcnn-worker-1", 137)
    await lab.passes()
    await lab.passes()
    await lab.reaps()
    await lab.settles_after(seconds=5)

    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1")
    assert (await lab.status())["attempt"] == 2
    assert lab.reads == ["get quantumtrainingjobs qcnn"]


async def test_no_child_comes_again_for_a_job_that_is_gone_where_the_watch_of_jobs_is_behind() -> None:
    lab = await Watched.settled()
    lab.stalled.add(Resource.QUANTUM_TRAINING_JOBS)
    lab.cluster.remove(Resource.QUANTUM_TRAINING_JOBS, *KEY)
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.client.calls == ["get quantumtrainingjobs qcnn"]


async def test_no_result_is_lost_where_the_watch_of_pods_is_behind_that_of_jobs() -> None:
    lab = await running(Watched(), inference={})
    await lab.trains()
    lab.stalled.add(Resource.PODS)
    await lab.kubelet.runs_inference("qcnn", 0, MEASURED)

    await lab.settles()

    assert (await lab.status())["inference"]["metrics"] == {"mse": 0.21, "signAccuracy": 0.94}


async def test_a_status_that_was_decided_on_an_old_job_is_refused_and_the_next_pass_reads_the_job() -> None:
    lab = await running(Watched())
    lab.stalled.add(Resource.QUANTUM_TRAINING_JOBS)
    await lab.edits(suspend=True)
    lab.kubelet.ends("qcnn-worker-1", 137)
    lab.client.calls.clear()

    with pytest.raises(ApiError, match="modified"):
        await lab.settles()
    await lab.settles()

    assert lab.reads[0] == "get quantumtrainingjobs qcnn"
    assert await lab.phase() == "Suspended"


async def test_other_tasks_have_their_turn_while_a_thousand_replicas_are_looked_at() -> None:
    lab = await running(Watched(), replicaSpecs={"Worker": {"replicas": 1000}})
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await lab.passes()
    task.cancel()

    assert turns >= 20, "after each hundred pods and Services"


async def test_a_pass_parses_only_the_pods_and_services_that_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse a thousand pods and Services takes longer than to decide about them."""
    lab = Watched()
    parsed: list[str] = []
    await running(lab, replicaSpecs={"Worker": {"replicas": 3}})
    for part in (PodObject, ServiceObject):
        monkeypatch.setattr(part, "model_validate", noting(parsed, part.model_validate))

    await lab.passes()
    assert parsed == []

    lab.kubelet.ends("qcnn-worker-1", exit_code=1)
    await lab.passes()
    assert parsed == ["qcnn-worker-1"]


def noting(parsed: list[str], parse: Callable[[Object], Any]) -> Callable[[Object], Any]:
    def noted(raw: Object) -> Any:
        parsed.append(raw["metadata"]["name"])
        return parse(raw)

    return noted
