"""Reads from memory, writes to the server: right on stale data, whatever becomes of a write."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Client, Key, Object, Resource
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.memory import Cluster, RecordingClient
from tests.jobs import job_object

JOBS, PODS, SERVICES = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS, Resource.SERVICES
LABELS = {LABEL_JOB: "qcnn"}
LOST = ApiError(0, "Unreachable", "the connection was reset")


class Far:
    """A cluster of which the client hears only when the test says so."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.live = RecordingClient(self.cluster)
        self.cache = Cache()
        self.hints: list[Key] = []
        self.client: Client = CachedClient(self.live, self.cache, self.hints.append)
        self._handler = WatchHandler(self.cache, lambda _: None)
        self._heard = 0
        for resource in CACHED:
            self.cache.replace(resource, [], "0")

    def hears(self, *kinds: str) -> None:
        """What has happened since arrives, or of it only events of some kinds."""
        for change in self.cluster.store.changes(self._heard):
            if not kinds or change.type in kinds:
                self._handler.changed(change.resource, change.type, change.object)
        self._heard = self.cluster.store.version

    async def names(self, **how: Any) -> list[str]:
        self.live.calls.clear()
        return [pod["metadata"]["name"] for pod in await self.client.list(PODS, "lab", LABELS, **how)]

    async def version(self, name: str = "a") -> str:
        known = await self.client.get(PODS, "lab", name)
        assert known is not None
        return str(known["metadata"]["resourceVersion"])


def a_pod(name: str = "a", **spec: Any) -> Object:
    meta = {"name": name, "namespace": "lab", "labels": LABELS}
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "trainer"}], **spec}}


@pytest.fixture
def far() -> Far:
    return Far()


def loses(far: Far) -> None:
    """The next write is done, and its answer is lost."""
    inner = far.cluster.create

    async def create(resource: Resource, manifest: Object) -> Object:
        await inner(resource, manifest)
        raise LOST

    far.cluster.create = create  # type: ignore[method-assign]


async def test_what_a_watch_delivered_is_read_without_a_request(far: Far) -> None:
    await far.cluster.create(PODS, a_pod())
    await far.cluster.create(JOBS, job_object())
    far.hears()

    assert await far.names() == ["a"]
    assert await far.client.get(JOBS, "lab", "qcnn") is not None
    assert await far.client.list(JOBS, None, {}) != []
    assert far.live.calls == []


async def test_what_was_created_is_there_before_its_event_and_stays_when_that_arrives(far: Far) -> None:
    await far.client.create(PODS, a_pod())

    assert await far.names() == ["a"]
    far.hears()
    assert await far.names() == ["a"]
    assert far.live.calls == []


async def test_a_status_that_was_written_is_there_before_its_event(far: Far) -> None:
    await far.cluster.create(JOBS, job_object())
    far.hears()
    job = await far.client.get(JOBS, "lab", "qcnn")
    assert job is not None

    await far.client.replace_status(JOBS, {**job, "status": {"phase": "Running"}})

    written = await far.client.get(JOBS, "lab", "qcnn")
    assert written is not None
    assert written["status"] == {"phase": "Running"}


async def test_a_patch_is_there_before_its_event(far: Far) -> None:
    await far.client.create(SERVICES, a_pod())

    await far.client.patch(SERVICES, "lab", "a", [{"op": "add", "path": "/spec/ports", "value": [{"port": 1}]}])

    known = await far.client.get(SERVICES, "lab", "a")
    assert known is not None
    assert known["spec"]["ports"] == [{"port": 1}]


async def test_a_pod_that_is_being_deleted_is_known_as_such_before_its_event(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    far.cluster.edit(PODS, "lab", "a", spec={"containers": [], "nodeName": "n"}, status={"phase": "Running"})
    far.hears()

    await far.client.delete(PODS, "lab", "a", await far.version())

    known = await far.client.get(PODS, "lab", "a")
    assert known is not None
    assert "deletionTimestamp" in known["metadata"]


async def test_what_was_deleted_at_once_is_read_again_and_then_gone_for_good(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    far.hears()

    await far.client.delete(PODS, "lab", "a", await far.version())

    assert await far.names() == []
    assert far.live.calls == ["get pods a"]
    assert await far.names() == []
    assert far.live.calls == [], "once is enough"


async def test_nothing_is_read_where_the_event_came_first(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    await far.client.delete(PODS, "lab", "a", await far.version())

    far.hears()

    assert await far.names() == []
    assert far.live.calls == []


async def test_a_creation_whose_answer_is_lost_is_looked_for(far: Far) -> None:
    loses(far)
    with pytest.raises(ApiError):
        await far.client.create(PODS, a_pod())

    assert await far.names() == ["a"]
    assert far.live.calls == ["get pods a"]


async def test_a_creation_that_was_refused_for_good_is_not_looked_for(far: Far) -> None:
    far.live.refuse = lambda _: ApiError(403, "Forbidden", "exceeded quota")
    with pytest.raises(ApiError):
        await far.client.create(PODS, a_pod())
    far.live.refuse = lambda _: None

    assert await far.names() == []
    assert far.live.calls == []


async def test_a_name_that_is_taken_is_read_from_the_server_and_a_stranger_is_not_kept(far: Far) -> None:
    await far.cluster.create(PODS, {"metadata": {"name": "a", "namespace": "lab"}, "spec": {"containers": []}})
    with pytest.raises(ApiError):
        await far.client.create(PODS, a_pod())

    assert await far.client.get(PODS, "lab", "a") is not None
    assert await far.client.get(PODS, "lab", "a") is None
    assert await far.names() == []


STALE = [{"op": "test", "path": "/metadata/resourceVersion", "value": "another"}]
WRITES: dict[str, Callable[[Client, Object], Awaitable[Object | None]]] = {
    "patch": lambda client, _: client.patch(PODS, "lab", "a", STALE),
    "delete": lambda client, seen: client.delete(PODS, "lab", "a", seen["metadata"]["resourceVersion"]),
    "replace_status": lambda client, seen: client.replace_status(PODS, {**seen, "status": {}}),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_what_has_changed_is_read_from_the_server_after_the_conflict(
    far: Far, write: Callable[[Client, Object], Awaitable[Object | None]]
) -> None:
    created = await far.client.create(PODS, a_pod())
    far.cluster.edit(PODS, "lab", "a", status={"phase": "Running"})

    with pytest.raises(ApiError):
        await write(far.client, created)

    (known,) = await far.client.list(PODS, "lab", LABELS)
    assert known["status"] == {"phase": "Running"}


async def test_what_is_in_doubt_stays_so_while_the_server_is_away(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    await far.client.delete(PODS, "lab", "a", await far.version())
    far.live.refuse = lambda _: LOST
    with pytest.raises(ApiError):
        await far.names()
    far.live.refuse = lambda _: None

    assert await far.names() == []


async def test_much_that_is_in_doubt_is_read_with_one_list(far: Far) -> None:
    for number in range(20):
        await far.client.create(PODS, a_pod(str(number)))
    for number in range(15):
        await far.client.delete(PODS, "lab", str(number), await far.version(str(number)))

    assert sorted(await far.names()) == ["15", "16", "17", "18", "19"]
    assert far.live.calls == ["list pods *"]
    assert len(await far.names()) == 5
    assert far.live.calls == []


async def test_what_another_job_has_in_doubt_costs_this_one_nothing(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    await far.client.delete(PODS, "lab", "a", await far.version())

    assert await far.client.list(PODS, "lab", {LABEL_JOB: "other"}) == []
    assert far.live.calls[-1] == "delete pods a"


async def test_a_fresh_list_is_of_the_server_and_known_from_then_on(far: Far) -> None:
    await far.cluster.create(PODS, a_pod())

    assert await far.names() == []
    assert await far.names(fresh=True) == ["a"]
    assert await far.names() == ["a"]


async def test_nothing_is_left_in_doubt_of_a_job_that_is_gone(far: Far) -> None:
    await far.cluster.create(JOBS, job_object())
    far.hears()
    await far.client.create(PODS, a_pod())
    await far.client.delete(PODS, "lab", "a", await far.version())
    far.cluster.remove(JOBS, "lab", "qcnn")
    far.hears()

    assert await far.client.get(JOBS, "lab", "qcnn") is None
    assert isinstance(far.client, CachedClient)
    assert far.client.unconfirmed == {}


async def test_what_is_not_watched_is_read_from_the_server(far: Far) -> None:
    await far.client.get(Resource.NODES, None, "n")
    await far.client.list(Resource.EVENTS, "lab", {})
    job = {"namespace": "lab", "name": "qcnn"}
    await far.client.create(Resource.EVENTS, {"metadata": {"name": "e", "namespace": "lab"}, "involvedObject": job})

    assert far.live.calls == ["get nodes n", "list events *", "create events e"]
