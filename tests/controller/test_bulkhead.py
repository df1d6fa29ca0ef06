"""Jobs whose requests hang, as behind an admission webhook that does not answer, leave workers to others.

Whether such a request fails or succeeds in the end depends on the timeout and the failurePolicy of the webhook.
"""

import asyncio
from contextlib import ExitStack

import pytest

from qtj_operator.api.job import Job
from qtj_operator.controller.bulkhead import Bulkhead
from qtj_operator.controller.cache import Cache
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.turns import AT_LEAST, Turns
from tests.controller.busy_operator import IGNORED, NO_ANSWER, REFUSED, BusyOperator, Hang
from tests.controller.memory import Cluster
from tests.controller.virtual_time import run
from tests.jobs import job_object

LONGEST_PAUSE_SECONDS = 60
"""After a refusal."""
EVERY_HANG = [
    pytest.param(NO_ANSWER, id="no answer"),
    pytest.param(REFUSED, id="refused"),
    pytest.param(IGNORED, id="ignored"),
]


async def hangs(operator: BusyOperator, jobs: int, hang: Hang = NO_ANSWER) -> None:
    operator.cluster.hung["bad"] = hang
    for number in range(jobs):
        await operator.applies("bad", f"stuck-{number}")


@pytest.mark.parametrize("hang", EVERY_HANG)
@pytest.mark.parametrize("jobs", [30, 300])
def test_jobs_of_other_namespaces_wait_for_one_timeout_at_most(jobs: int, hang: Hang) -> None:
    """The first passes over stuck jobs take all workers: nobody knows yet that they will hang."""

    async def story() -> list[float]:
        async with BusyOperator.running() as operator:
            for number in range(5):
                await operator.applies("good", f"small-{number}")
            await asyncio.sleep(5)
            await hangs(operator, jobs, hang)
            await asyncio.sleep(1)
            return await operator.seconds_until_each_is_suspended("good", 5, pause=60)

    first, *later = run(story())
    assert first < hang.seconds + 2
    assert max(later) < 2


@pytest.mark.parametrize("hang", EVERY_HANG)
def test_a_job_beside_those_that_hang_is_not_behind_them(hang: Hang) -> None:
    async def story() -> float:
        async with BusyOperator.running() as operator:
            await operator.applies("bad", "small")
            await asyncio.sleep(5)
            await hangs(operator, 30, hang)
            await asyncio.sleep(60)
            return await operator.seconds_until_suspended("bad", "small")

    assert run(story()) < hang.seconds


@pytest.mark.parametrize("hang", EVERY_HANG)
def test_jobs_that_hung_go_on_soon_after_they_are_answered(hang: Hang) -> None:
    async def story() -> int:
        async with BusyOperator.running() as operator:
            await hangs(operator, 100, hang)
            await asyncio.sleep(300)
            assert not operator.cluster.created or hang is IGNORED
            operator.cluster.hung.clear()
            await asyncio.sleep(LONGEST_PAUSE_SECONDS + 20)
            return len(operator.cluster.created)

    assert run(story()) == 400


@pytest.mark.parametrize("hang", EVERY_HANG)
@pytest.mark.parametrize("teams", [1, 3])
def test_a_sound_job_with_one_late_answer_does_not_wait_behind_those_that_hang(teams: int, hang: Hang) -> None:
    async def story() -> float:
        async with BusyOperator.running() as operator:
            for team in range(teams):
                operator.cluster.hung[f"bad-{team}"] = hang
                for number in range(100):
                    await operator.applies(f"bad-{team}", f"stuck-{number}")
            await asyncio.sleep(60)
            operator.cluster.hung["good"] = IGNORED
            await operator.applies("good", "small")
            await asyncio.sleep(IGNORED.seconds + 1)
            del operator.cluster.hung["good"]
            await asyncio.sleep(30)
            return await operator.seconds_until_suspended("good", "small")

    assert run(story()) < 2


def passes(bulkhead: Bulkhead, key: Key, *answers: float) -> None:
    with bulkhead.admitted(key):
        for seconds in answers:
            bulkhead.answered(key, seconds)


def workers_of(bulkhead: Bulkhead, *keys: Key) -> list[Key]:
    """Returns which of the jobs get a worker, if each holds the one that it gets."""
    with ExitStack() as held:
        return [key for key in keys if held.enter_context(bulkhead.admitted(key))]


def jobs_of(namespace: str, number: int = 20) -> list[Key]:
    return [(namespace, f"job-{each}") for each in range(number)]


LATE, QUICK = 2.5, 2.4


async def test_a_quick_answer_ends_the_lateness_of_a_job_and_no_answer_does_not() -> None:
    bulkhead = Bulkhead()
    late = jobs_of("bad")

    for key in late:
        passes(bulkhead, key, QUICK, LATE, QUICK)
        passes(bulkhead, key)
    assert len(workers_of(bulkhead, *late)) == 6

    for key in late:
        passes(bulkhead, key, QUICK)
    assert workers_of(bulkhead, *late) == late


async def test_neighbours_of_late_jobs_have_the_rest_of_the_share_and_others_what_they_need() -> None:
    bulkhead = Bulkhead()
    late, beside, others = jobs_of("bad", 10), [("bad", f"new-{each}") for each in range(20)], jobs_of("good")
    for key in late:
        passes(bulkhead, key, LATE)

    assert workers_of(bulkhead, *late, *beside, *others) == [*late[:6], *beside[:6], *others]


async def test_namespaces_with_late_answers_share_workers_equally() -> None:
    bulkhead = Bulkhead()
    for namespace in ("a", "b", "c"):
        passes(bulkhead, (namespace, "job-0"), LATE)

    keys = [*jobs_of("a"), *jobs_of("b"), *jobs_of("c")]
    assert [namespace for namespace, _ in workers_of(bulkhead, *keys)] == 4 * ["a"] + 4 * ["b"] + 4 * ["c"]


async def test_however_many_namespaces_are_late_others_have_the_rest_of_the_workers() -> None:
    bulkhead = Bulkhead()
    late = [(f"team-{number}", "job") for number in range(20)]
    for key in late:
        passes(bulkhead, key, LATE)

    assert workers_of(bulkhead, *late) == late[:12]


def test_a_large_pass_is_over_after_a_while_if_another_job_has_no_place_in_its_share() -> None:
    async def story() -> list[bool]:
        bulkhead, cache = Bulkhead(), Cache()
        raw = await Cluster().create(Resource.QUANTUM_TRAINING_JOBS, job_object(name="job-0", namespace="bad"))
        cache.replace(Resource.QUANTUM_TRAINING_JOBS, [raw], "1")
        turns, job = Turns(cache, WorkQueue(), bulkhead), Job.parse(raw)
        late = jobs_of("bad", 7)
        for key in late:
            passes(bulkhead, key, LATE)
        with ExitStack() as held:
            for key in late[:6]:
                held.enter_context(bulkhead.admitted(key))
            await asyncio.sleep(12)
            found = [turns.is_over(job, AT_LEAST)]
            held.enter_context(bulkhead.admitted(late[6]))
            return [*found, turns.is_over(job, AT_LEAST - 1), turns.is_over(job, AT_LEAST)]

    assert run(story()) == [False, False, True]


@pytest.mark.parametrize(("seconds", "workers"), [(299, 6), (300, 20)])
def test_what_was_late_is_forgotten_after_five_minutes(seconds: int, workers: int) -> None:
    async def story() -> int:
        bulkhead = Bulkhead()
        for key in jobs_of("bad"):
            passes(bulkhead, key, LATE)
        await asyncio.sleep(seconds)
        return len(workers_of(bulkhead, *jobs_of("bad")))

    assert run(story()) == workers


def test_a_pass_is_contended_only_where_it_could_make_room_and_has_had_its_turn() -> None:
    async def story() -> list[list[bool]]:
        bulkhead = Bulkhead()
        late = jobs_of("bad", 7)
        for key in [*late, ("slow", "job")]:
            passes(bulkhead, key, LATE)
        under_way = [*late[:3], ("slow", "job"), ("good", "small")]
        found = []
        with ExitStack() as held:
            assert all(held.enter_context(bulkhead.admitted(key)) for key in under_way)
            await asyncio.sleep(11.9)
            assert not held.enter_context(bulkhead.admitted(late[3]))
            found.append([bulkhead.is_contended(key) for key in under_way])
            await asyncio.sleep(0.1)
            found.append([bulkhead.is_contended(key) for key in under_way])
        return found

    assert run(story()) == [5 * [False], [True, True, True, False, False]]


async def test_a_place_goes_to_the_job_that_waits_longest() -> None:
    bulkhead = Bulkhead()
    late = jobs_of("bad", 9)
    for key in late:
        passes(bulkhead, key, LATE)
    with ExitStack() as held:
        with bulkhead.admitted(late[0]):
            for key in late[1:]:
                held.enter_context(bulkhead.admitted(key))
            assert bulkhead.call() == []
        assert bulkhead.waiting == 3
        assert bulkhead.call() == [late[6]]
        with bulkhead.admitted(late[0]) as is_admitted:
            assert not is_admitted, "the place is taken by the job that was called"
        assert held.enter_context(bulkhead.admitted(late[6]))


async def test_a_place_goes_to_the_namespace_that_has_fewest() -> None:
    bulkhead = Bulkhead()
    for namespace in "abcde":
        passes(bulkhead, (namespace, "late"), LATE)
    with ExitStack() as held:
        for key in [(namespace, f"job-{number}") for number in range(3) for namespace in "abcd"][:-1]:
            held.enter_context(bulkhead.admitted(key))
        with bulkhead.admitted(("d", "job-2")):
            bulkhead.answered(("d", "job-2"), LATE)
            for key in [("a", "next"), ("d", "next"), ("e", "next")]:
                held.enter_context(bulkhead.admitted(key))
        assert bulkhead.call() == [("e", "next")]


async def test_a_late_answer_is_known_before_its_pass_ends() -> None:
    bulkhead = Bulkhead()
    with bulkhead.admitted(("bad", "gang")):
        before = workers_of(bulkhead, *jobs_of("bad"))
        bulkhead.answered(("bad", "gang"), LATE)
        after = workers_of(bulkhead, *jobs_of("bad"))

    assert (len(before), len(after)) == (20, 12)


def test_a_late_job_whose_pass_is_under_way_is_not_forgotten() -> None:
    async def story() -> list[Key]:
        bulkhead = Bulkhead()
        with bulkhead.admitted(("bad", "gang")):
            bulkhead.answered(("bad", "gang"), LATE)
            await asyncio.sleep(300)
            return workers_of(bulkhead, *jobs_of("bad"))

    assert len(run(story())) == 12


def test_a_late_job_that_waits_for_its_place_is_not_forgotten() -> None:
    async def story() -> list[Key]:
        bulkhead = Bulkhead()
        late = jobs_of("bad", 7)
        for key in late:
            passes(bulkhead, key, LATE)
        with ExitStack() as held:
            for key in late:
                held.enter_context(bulkhead.admitted(key))
            await asyncio.sleep(300)
            return workers_of(bulkhead, late[6])

    assert run(story()) == []
