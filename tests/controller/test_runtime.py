"""The running operator: each job that is due has a pass, a resync forgets nobody. Time is virtual."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from prometheus_client import generate_latest

from qtj_operator.controller.client import ApiError, Key, Resource
from qtj_operator.controller.job_memory import JobMemory, Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.progress import NoProgress
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Reconciler
from qtj_operator.controller.runtime import Runtime
from tests.controller.memory import Cluster, RecordingClient
from tests.controller.virtual_time import in_virtual_time
from tests.jobs import job_object

Reconcile = Callable[[Key], Awaitable[timedelta | None]]


class Operator:
    """A runtime for a few seconds, and what it did: the moments of each job's passes."""

    def __init__(self, client: RecordingClient, namespace: str | None = None) -> None:
        self.client = client
        self.queue: WorkQueue[Key] = WorkQueue(jitter=0)
        self.metrics = Metrics()
        self.namespace = namespace
        self.jobs = Jobs()
        self.passes: dict[str, list[float]] = {}

    async def runs(self, reconcile: Reconcile, *, seconds: float) -> None:
        async def noted(key: Key) -> timedelta | None:
            moment = round(asyncio.get_running_loop().time(), 3)
            self.passes.setdefault(key[1], []).append(moment)
            return await reconcile(key)

        runtime = Runtime(self.client, noted, self.queue, self.namespace, jobs=self.jobs, metrics=self.metrics)
        task = asyncio.create_task(runtime.run())
        done, _ = await asyncio.wait([task], timeout=seconds)
        assert not done, f"the operator ended: {task}"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def counted(self, metric: str) -> float:
        lines = generate_latest(self.metrics.registry).decode().splitlines()
        return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(metric)), 0)


async def an_operator(*names: str, namespace: str | None = None) -> Operator:
    cluster = Cluster()
    for name in names:
        await cluster.create(Resource.QUANTUM_TRAINING_JOBS, job_object(name=name))
    return Operator(RecordingClient(cluster), namespace)


async def fine(_: Key) -> timedelta | None:
    return None


@in_virtual_time
async def test_every_job_is_looked_at_after_a_start() -> None:
    operator = await an_operator("a", "b", "c")
    await operator.runs(fine, seconds=10)

    assert operator.passes == {"a": [0], "b": [0], "c": [0]}


@in_virtual_time
async def test_every_job_is_looked_at_every_five_minutes_although_nothing_happens() -> None:
    operator = await an_operator("a")
    await operator.runs(fine, seconds=1000)

    assert operator.passes == {"a": [0, 300, 600, 900]}


@in_virtual_time
async def test_an_operator_of_one_namespace_looks_nowhere_else() -> None:
    operator = await an_operator("a", namespace="other")
    await operator.runs(fine, seconds=10)

    assert operator.passes == {}


@in_virtual_time
async def test_a_job_is_looked_at_again_when_its_pass_asked_for_it() -> None:
    async def in_a_minute(_: Key) -> timedelta | None:
        return timedelta(seconds=60)

    operator = await an_operator("a")
    await operator.runs(in_a_minute, seconds=130)

    assert operator.passes == {"a": [0, 60, 120]}


@in_virtual_time
async def test_a_job_that_meets_an_error_is_tried_again_and_holds_up_no_other() -> None:
    async def refused(key: Key) -> timedelta | None:
        if key[1] == "bad":
            raise ApiError(500, "Internal", "try again")
        return None

    operator = await an_operator("bad", "good")
    await operator.runs(refused, seconds=2.5)

    assert operator.passes == {"bad": [0, 0.2, 0.6, 1.4], "good": [0]}
    assert operator.counted('qtj_reconcile_duration_seconds_count{result="error"}') == 4
    assert operator.counted('qtj_reconcile_duration_seconds_count{result="success"}') == 1


@in_virtual_time
async def test_a_job_waits_seconds_and_not_minutes_when_the_api_server_was_away() -> None:
    back = 60

    async def away(_: Key) -> timedelta | None:
        if asyncio.get_running_loop().time() < back:
            raise ApiError(0, "Unreachable", "the API server cannot be reached")
        return None

    operator = await an_operator("a")
    await operator.runs(away, seconds=100)

    assert back <= operator.passes["a"][-1] <= back + 3


@in_virtual_time
async def test_a_job_whose_requests_hang_is_tried_again_at_once_and_then_each_minute() -> None:
    """The API server is there: it answers others."""

    async def hangs(key: Key) -> timedelta | None:
        if key[1] == "stuck":
            await asyncio.sleep(15)
        raise ApiError(0, "Unreachable", "the API server cannot be reached: timeout")

    operator = await an_operator("stuck", "refused")
    await operator.runs(hangs, seconds=170)

    passes = operator.passes
    assert passes["stuck"] == [0, 15.2, 90.2, 165.2]
    assert passes["refused"][-1] > 165


@in_virtual_time
async def test_a_defect_that_one_job_brings_to_light_does_not_stop_the_others() -> None:
    async def defect(key: Key) -> timedelta | None:
        if key[1] == "odd":
            raise KeyError("nobody thought of this")
        return timedelta(seconds=1)

    operator = await an_operator("odd", "good")
    await operator.runs(defect, seconds=2.5)

    assert operator.passes["odd"] == [0, 0.2, 0.6, 1.4]
    assert len(operator.passes["good"]) >= 3


@in_virtual_time
async def test_a_slow_job_holds_up_no_other() -> None:
    async def slow(key: Key) -> timedelta | None:
        if key[1] == "a-slow-one":
            await asyncio.sleep(100)
        return None

    operator = await an_operator("a-slow-one", "good")
    await operator.runs(slow, seconds=1)

    assert operator.passes == {"a-slow-one": [0], "good": [0]}


@in_virtual_time
async def test_a_resync_of_one_namespace_leaves_jobs_of_others_to_theirs() -> None:
    """Of several namespaces, each has a runtime, and what is remembered of jobs is in one place."""

    operator = await an_operator("a", namespace="lab")
    operator.jobs["lab", "gone"], operator.jobs["other", "theirs"] = JobMemory(), JobMemory()
    await operator.runs(fine, seconds=10)

    assert operator.passes == {"a": [0], "gone": [0]}


@in_virtual_time
async def test_a_list_that_fails_is_tried_again_and_ends_nothing() -> None:
    operator = await an_operator("a")
    errors = [ApiError(503, "ServiceUnavailable", "starting")]
    operator.client.refuse = lambda call: errors.pop() if call.startswith("list") and errors else None
    await operator.runs(fine, seconds=400)

    assert operator.passes == {"a": [300]}
    assert operator.counted("qtj_last_resync_timestamp_seconds") > 0


@in_virtual_time
async def test_a_real_pass_is_driven_to_its_end() -> None:
    operator = await an_operator("a", "b")
    await operator.runs(Reconciler(operator.client, NoProgress()).reconcile, seconds=5)

    cluster = operator.client.inner
    assert cluster.names(Resource.PODS) == ("a-worker-0", "a-worker-1", "b-worker-0", "b-worker-1")


@in_virtual_time
async def test_what_waits_is_counted_also_where_nobody_has_asked_since_its_time_came() -> None:
    queue = WorkQueue[Key]()
    metrics = Metrics(lambda: len(queue))
    queue.add(("lab", "a"))
    queue.add(("lab", "b"))
    queue.add_after(("lab", "c"), 5)
    before = metrics.registry.get_sample_value("qtj_queue_depth")
    await asyncio.sleep(5)
    due = metrics.registry.get_sample_value("qtj_queue_depth")

    assert [before, due] == [2, 3]


@in_virtual_time
async def test_a_job_for_which_there_is_nothing_to_wait_for_is_not_looked_at_when_an_old_alarm_is_due() -> None:
    said = iter((timedelta(seconds=60), None))

    async def first_an_hour_then_never(_: Key) -> timedelta | None:
        return next(said, None)

    operator = await an_operator("a")
    asyncio.get_running_loop().call_later(5, operator.queue.add, ("lab", "a"))
    await operator.runs(first_an_hour_then_never, seconds=250)

    assert operator.passes == {"a": [0, 5]}


@in_virtual_time
async def test_news_that_comes_during_a_pass_is_looked_at_although_the_pass_has_found_nothing_to_wait_for() -> None:
    async def slow(_: Key) -> None:
        await asyncio.sleep(2)

    operator = await an_operator("a")
    asyncio.get_running_loop().call_later(1, operator.queue.add_news, ("lab", "a"))
    await operator.runs(slow, seconds=50)

    assert operator.passes == {"a": [0, 2.2]}


@pytest.mark.parametrize(("retry_after", "comes_back"), [(None, 62.2), (5, 67)])
@in_virtual_time
async def test_news_that_comes_during_a_pass_that_fails_is_looked_at_as_soon_as_news_after_it(
    retry_after: float | None, comes_back: float
) -> None:
    """It waited until the end of the back-off: an edit during a slow write was looked at a minute later."""

    async def fails_slowly(_: Key) -> timedelta | None:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(2)
        error = ApiError(500, "InternalError", "etcdserver: request timed out", retry_after=0)
        if now == 60 and retry_after:
            error = ApiError(429, "TooManyRequests", "too many requests", retry_after=retry_after)
        raise error

    operator = await an_operator("a")
    for _ in range(10):  # so that it backs off for long
        operator.queue.retry(("lab", "a"))
    operator.queue.wait_no_more(("lab", "a"))
    asyncio.get_running_loop().call_later(60, operator.queue.add, ("lab", "a"))
    asyncio.get_running_loop().call_later(61, operator.queue.add_news, ("lab", "a"))
    await operator.runs(fails_slowly, seconds=90)

    assert comes_back in operator.passes["a"]


@in_virtual_time
async def test_a_server_that_says_when_to_come_back_is_not_asked_before() -> None:
    async def busy(_: Key) -> timedelta | None:
        raise ApiError(429, "TooManyRequests", "too many requests", retry_after=20)

    operator = await an_operator("a")
    await operator.runs(busy, seconds=50)

    assert operator.passes == {"a": [0, 20, 40]}
