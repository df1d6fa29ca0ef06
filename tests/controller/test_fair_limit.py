"""Requests under way at once: namespaces share them, and those that wait are served in turn."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.cache import CACHED, Cache
from qtj_operator.controller.cached_client import CachedClient
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.metrics import Metrics
from tests.controller.memory import Cluster
from tests.jobs import job_object

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS
REFUSED = ApiError(500, "InternalError", "failed calling webhook")


class Requests:
    """Requests that each last until they are answered.

    Attributes:
        begun: The jobs whose requests have begun, in order.
    """

    def __init__(self, requests: int) -> None:
        self.limit = FairLimit(requests)
        self.begun: list[Key] = []
        self._answers: list[asyncio.Event] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def ask(self, *keys: Key) -> None:
        for key in keys:
            self._tasks.append(asyncio.create_task(self._request(key)))
        await asyncio.sleep(0.01)

    async def answer(self, number: int = 1) -> None:
        """Answers those that have waited longest."""
        for _ in range(number):
            self._answers.pop(0).set()
            await asyncio.sleep(0.001)

    async def give_up(self) -> None:
        """Cancels the last request."""
        self._tasks[-1].cancel()
        await asyncio.sleep(0.001)

    def namespaces(self) -> str:
        return "".join(namespace for namespace, _ in self.begun)

    async def _request(self, key: Key) -> None:
        async with self.limit.turn(key):
            self.begun.append(key)
            answer = asyncio.Event()
            self._answers.append(answer)
            await answer.wait()


def of(namespace: str, number: int) -> list[Key]:
    return [(namespace, f"job-{each}") for each in range(number)]


async def test_a_namespace_leaves_requests_to_others_and_these_to_more() -> None:
    requests = Requests(12)

    for namespace in "abcd":
        await requests.ask(*of(namespace, 20))

    assert requests.namespaces() == "aaaabbbccd"
    assert requests.limit.waiting == 80 - 10


async def test_one_request_is_let_through_for_a_namespace_as_long_as_any_is_free() -> None:
    requests = Requests(3)

    await requests.ask(("a", "job"), ("a", "job"), ("b", "job"), ("c", "job"), ("d", "job"))

    assert requests.namespaces() == "abc"


async def test_namespaces_that_wait_are_served_in_turn_and_in_each_its_jobs() -> None:
    requests = Requests(1)

    await requests.ask(("a", "first"), *3 * [("a", "large")], ("a", "small"), *2 * [("b", "large")], ("b", "small"))
    await requests.answer(7)

    assert requests.begun[1:] == [
        ("a", "large"), ("b", "large"), ("a", "small"), ("b", "small"), ("a", "large"), ("b", "large"), ("a", "large")
    ]  # fmt: skip


async def test_a_request_that_is_given_up_while_it_waits_keeps_no_other_from_its_turn() -> None:
    requests = Requests(1)

    await requests.ask(("a", "first"), ("b", "second"), ("c", "third"))
    await requests.give_up()
    await requests.ask(("d", "fourth"))
    await requests.answer(2)

    assert requests.namespaces() == "abd"


async def test_a_request_that_is_given_up_under_way_makes_room_for_another() -> None:
    requests = Requests(2)

    await requests.ask(("a", "first"), ("b", "second"))
    await requests.give_up()
    await requests.ask(("b", "third"))

    assert requests.namespaces() == "abb"


async def test_what_waits_is_counted_by_job() -> None:
    requests = Requests(1)
    metrics = Metrics(lambda: requests.limit.waiting)

    await requests.ask(("a", "first"), ("a", "second"), ("a", "second"), ("b", "third"))

    assert metrics.registry.get_sample_value("qtj_queue_depth") == 2


class Asked(FairLimit):
    """Notes for whom turns are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Key] = []

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[None]:
        self.keys.append(key)
        async with super().turn(key):
            yield


class RefusingCluster(Cluster):
    """Refuses what changes a pod, if told."""

    error: ApiError | None = None

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        if self.error:
            raise self.error
        return await super().patch(resource, namespace, name, operations)


@pytest.mark.parametrize("error", [None, REFUSED])
async def test_every_request_has_a_turn_of_its_job(error: ApiError | None) -> None:
    cluster, cache, limit = RefusingCluster(), Cache(), Asked()
    for resource in CACHED:
        cache.replace(resource, [], "0")
    client = CachedClient(cluster, cache, lambda _: None, limit)
    job = await cluster.create(JOBS, job_object(name="qcnn", namespace="lab"))
    meta = {"name": "qcnn-worker-0", "namespace": "lab", "labels": {LABEL_JOB: "qcnn"}}

    pod = await client.create(PODS, {"kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "trainer"}]}})
    cluster.error = error
    with suppress(ApiError):
        await client.patch(PODS, "lab", "qcnn-worker-0", [{"op": "add", "path": "/metadata/annotations", "value": {}}])
    await client.replace_status(JOBS, {**job, "status": {"phase": "Pending"}})
    await client.list(PODS, "lab", {LABEL_JOB: "qcnn"}, fresh=True)
    await client.get(Resource.POD_GROUPS, "lab", "qcnn")
    with suppress(ApiError):  # without an error before, the pod has changed since
        await client.delete(PODS, "lab", "qcnn-worker-0", pod["metadata"]["resourceVersion"])

    assert limit.keys == 6 * [("lab", "qcnn")]
