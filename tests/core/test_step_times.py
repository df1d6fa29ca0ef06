"""How long the steps of a gang take, and the replica for which the others wait."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from qtj_contract import Heartbeat, StepTimes
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.api.status import StepsStatus
from qtj_operator.core.heard import Heard
from qtj_operator.core.status import differ_in_numbers_alone
from tests.core.world import NOW, World, later, running_job


def took(own: float, seconds: float = 1.0, *, steps: int = 60, span: float = 60.0) -> StepTimes:
    return StepTimes(seconds=seconds, own=own, steps=steps, span=span)


def told(world: World, *times: StepTimes | None) -> World:
    """The workers tell how long their steps take; None of one that tells nothing yet."""
    heard = {ReplicaId(Role.WORKER, index): Heard(Heartbeat(times=each)) for index, each in enumerate(times)}
    return replace(world, heard=heard)


def gang(*times: StepTimes | None) -> World:
    world = running_job(workers=len(times)).with_pods(ready=True, address="10.0.0.1")
    for index in range(len(times)):
        world = world.with_pod(f"worker-{index}", ready=True, address="10.0.0.1", node=f"node-{index}")
    return told(world, *times)


def steps_of(world: World) -> StepsStatus:
    steps = world.decide().status.steps
    assert steps is not None
    return steps


def events_of(world: World) -> list[tuple[str, str]]:
    return [(each.reason, each.message) for each in world.decide().events if each.reason == "Straggler"]


def message_of(world: World) -> str:
    return next(each.message for each in world.decide().status.conditions if each.type == "Running")


def stragglers_of(*times: StepTimes | None) -> list[str]:
    return [each.replica for each in steps_of(gang(*times)).stragglers]


SLOW = gang(took(0.2), took(0.9), took(0.25))


def test_the_replica_that_the_others_wait_for_is_named_with_its_node() -> None:
    sentence = "worker-1 on node node-1 is slow: its part of a step takes 0.9 s, and that of its peers 0.225 s"

    told = "worker-1 on node node-1 is slow, and its peers wait for it: see status.steps"
    assert events_of(SLOW) == [("Straggler", told)]
    assert message_of(SLOW) == f"3 of 3 replicas are ready; {sentence}"


def test_it_is_told_once_in_an_attempt() -> None:
    known = SLOW.recorded()
    recovered = told(known, took(0.2), took(0.2), took(0.25)).recorded(later(seconds=90))
    again = told(recovered, took(0.2), took(0.9), took(0.25))

    assert events_of(known) == events_of(again) == []
    assert message_of(recovered) == "3 of 3 replicas are ready"
    assert message_of(again) == message_of(SLOW)


def test_another_attempt_begins_with_nothing() -> None:
    after = SLOW.recorded().with_pod("worker-0", exit_code=137).decide().status

    assert (after.attempt, after.steps) == (2, None)


def test_a_straggler_recovers_well_below_what_made_it_one() -> None:
    known = SLOW.recorded()

    for own, is_over in ((0.4, False), (0.3, True)):
        [straggler] = steps_of(told(known, took(0.2), took(own), took(0.25))).stragglers
        assert (straggler.until is not None) == is_over


def test_several_are_counted_in_the_message_and_have_an_event_each() -> None:
    world = gang(*[took(0.1)] * 6, took(0.9), took(0.8))

    assert [message.split()[0] for _, message in events_of(world)] == ["worker-6", "worker-7"]
    assert message_of(world).endswith("that of its peers 0.1 s; slow replicas besides: 1")


def test_two_workers_and_many() -> None:
    assert stragglers_of(took(0.3), took(0.7)) == ["worker-1"]
    assert stragglers_of(*[took(0.1)] * 6, took(0.9), took(0.8)) == ["worker-6", "worker-7"]


def test_no_false_alarm() -> None:
    assert stragglers_of(took(0.9)) == []  # it has no peers
    assert stragglers_of(took(0.3), took(0.5)) == []  # unequal shares of a batch
    assert stragglers_of(took(0.2), took(0.9, steps=19)) == []  # its first steps
    assert stragglers_of(took(0.2), took(0.9, span=29)) == []
    assert stragglers_of(took(0.2), None) == []  # it compiles, or has another program
    assert stragglers_of(took(0.2, steps=5), took(0.9)) == []  # its peer has just begun
    assert stragglers_of(took(0.002, 0.06), took(0.006, 0.06)) == []  # the exchange takes longer
    assert stragglers_of(took(0.0), took(0.0)) == []


def test_a_large_gang_has_a_small_status() -> None:
    steps = steps_of(gang(*(took(0.1 + 0.001 * index) for index in range(50))))

    assert (steps.replicas, steps.least_own_seconds, steps.median_own_seconds) == (50, 0.1, 0.124)
    assert [each.replica for each in steps.slowest] == [f"worker-{index}" for index in range(49, 41, -1)]
    assert len(steps.model_dump_json()) < 1000


def test_at_most_eight_stragglers_are_listed() -> None:
    assert len(stragglers_of(*[took(0.1)] * 12, *[took(0.9)] * 10)) == 8


def test_numbers_are_written_once_a_minute_at_most_and_only_if_they_change_by_a_quarter() -> None:
    known = gang(took(0.2), took(0.21)).recorded()
    little, much = told(known, took(0.24), took(0.25)), told(known, took(0.4), took(0.41))

    for world, seconds, is_written in ((little, 600, False), (much, 59, False), (much, 60, True)):
        assert (world.decide(later(seconds=seconds)).status.steps != known.job.status.steps) == is_written


def test_only_a_straggler_makes_the_status_more_than_numbers() -> None:
    before = gang(took(0.2), took(0.2)).recorded()
    after = told(before, took(0.4), took(0.4)).decide(later(minutes=2)).status
    slow = told(before, took(0.2), took(0.9)).decide(later(seconds=1)).status

    assert differ_in_numbers_alone(before.job.status, after)
    assert not differ_in_numbers_alone(before.job.status, slow)


def test_who_is_asked_now_and_then() -> None:
    world = gang(*[took(0.1)] * 3)

    assert set(world.decide().asked) == {ReplicaId(Role.WORKER, 0)}
    assert set(world.decide().followers) == {ReplicaId(Role.WORKER, 1), ReplicaId(Role.WORKER, 2)}


@given(some.lists(some.floats(0, 10), min_size=2, max_size=9))
def test_whoever_is_named_is_twice_as_slow_as_half_of_its_peers(own: list[float]) -> None:
    steps = gang(*(took(each, 10.0) for each in own)).decide(NOW).status.steps
    assert steps is not None

    for each in steps.stragglers:
        mine = own.pop(int(each.replica.removeprefix("worker-")))
        faster = sum(other <= mine / 2 for other in own)
        own.insert(int(each.replica.removeprefix("worker-")), mine)
        assert faster >= (len(own) - 1) / 2
