"""A gang in which no replica takes a step: `runPolicy.progressDeadlineSeconds`."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_contract import Heartbeat
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.core.heard import Heard
from tests.core.world import NOW, World, later, parameter_servers, running_job, starting_job

FIRST, SECOND = ReplicaId(Role.WORKER, 0), ReplicaId(Role.WORKER, 1)


def stepped(age: float | None, step: int = 40, place: str = "") -> Heard:
    return Heard(Heartbeat(step=step, age=age, place=place))


def silent(seconds: float, *, holds: bool = True, before: float | None = 1.0) -> Heard:
    """It answered once that its last step was so long before, and then not for these seconds."""
    return Heard(Heartbeat(step=40, age=before), seconds, holds)


def watched(*heard: Heard, limit: int = 60, **job: Any) -> World:
    """A gang of workers with what they tell of their last steps."""
    policy = {"progressDeadlineSeconds": limit, **job.pop("runPolicy", {})}
    world = running_job(workers=len(heard), runPolicy=policy, **job)
    world = world.with_pods(ready=True, address="10.0.0.1")
    return replace(world, heard={ReplicaId(Role.WORKER, index): each for index, each in enumerate(heard)})


def said(world: World) -> tuple[int, str, str]:
    """The attempt after a pass, with the reason and the message of Running."""
    status = world.decide().status
    running = next(each for each in status.conditions if each.type == "Running")
    return status.attempt or 0, running.reason, running.message


def test_the_replica_that_is_a_step_behind_is_the_culprit() -> None:
    world = watched(stepped(62, 41), stepped(63, 40, "train.py:12 in exchange"))

    attempt, reason, message = said(world)

    assert (attempt, reason) == (2, "NoProgress")
    assert message == (
        "qcnn-worker-1 hangs: it has taken no step for 63 s after step 40, at train.py:12 in exchange, and wrote the"
        " stack of each thread into its log, while its peers are after step 41; all replicas restart as attempt 2"
    )


def test_it_counts_as_a_failure_of_the_culprit_alone() -> None:
    status = watched(stepped(62, 41), stepped(63, 40)).decide().status

    [failure] = status.failures
    assert (status.restarts, status.disruptions, failure.pod, failure.reason) == (
        1,
        None,
        "qcnn-worker-1",
        "NoProgress",
    )
    assert failure.message.startswith("it has taken no step for 63 s after step 40")


def test_a_stopped_process_is_found_by_its_silence() -> None:
    attempt, reason, message = said(watched(stepped(62), silent(59)))

    assert (attempt, reason) == (2, "NoProgress")
    assert message.startswith(
        "qcnn-worker-1 hangs: it has not answered for 59 s, since step 40; a process that is stopped cannot write its"
        " stack; all replicas"
    )


def test_so_is_a_leader_that_an_operator_has_never_heard() -> None:
    assert said(watched(Heard(None, 45, holds=True), stepped(200)))[1:][0] == "NoProgress"
    assert "qcnn-worker-0 hangs" in said(watched(Heard(None, 45, holds=True), stepped(200)))[2]


def test_a_single_stopped_process_is_found_by_the_age_of_its_last_step() -> None:
    assert said(watched(silent(59)))[1] == "NoProgress"
    assert said(watched(silent(58)))[1] == "AllReplicasReady"


def test_where_all_are_after_the_same_step_nobody_is_accused() -> None:
    message = said(watched(stepped(60), stepped(61), stepped(62)))[2]

    assert message.startswith(
        "qcnn-worker-0 hangs: it has taken no step for 60 s after step 40, like its 2 peers, so the culprit is not"
        " known; all replicas"
    )


@pytest.mark.parametrize(
    "heard",
    [
        (stepped(59), stepped(200)),  # the leader takes steps
        (stepped(300), stepped(None)),  # the peer stores a checkpoint, compiles, or evaluates
        (stepped(300), silent(20, before=None)),  # so it did, and one answer is late
        (silent(300, holds=False), silent(300, holds=False)),  # the network of the operator is cut
        (silent(300, before=None), silent(300, before=None)),  # the first step is compiled
        (Heard(None, 300), Heard(None, 300)),  # programs without the endpoint
        (Heard(), Heard()),  # programs that answer something else
    ],
)
def test_no_false_alarm(heard: tuple[Heard, ...]) -> None:
    decision = watched(*heard).decide()

    assert (decision.status.attempt, decision.status.reason, decision.actions) == (1, "AllReplicasReady", ())


def test_a_peer_that_says_nothing_of_steps_does_not_matter() -> None:
    assert said(watched(stepped(60), Heard()))[1] == "NoProgress"


def test_before_all_were_asked_nothing_is_decided() -> None:
    world = watched(stepped(300), stepped(300))

    assert replace(world, heard={FIRST: stepped(300)}).decide().status.attempt == 1


def test_without_the_deadline_nothing_changes() -> None:
    world = watched(stepped(900, 41), stepped(900, 40))
    calm = replace(running_job(workers=2).with_pods(ready=True, address="10.0.0.1"), heard=world.heard)

    assert (calm.decide().status.attempt, calm.decide().wake_at, list(calm.asked)) == (1, None, [FIRST])


def test_a_gang_that_starts_or_whose_leader_is_done_is_left_alone() -> None:
    starting = starting_job(workers=2, runPolicy={"progressDeadlineSeconds": 60})
    late = {FIRST: stepped(300), SECOND: stepped(300)}

    assert replace(starting, heard=late).decide().status.attempt == 1
    done = watched(stepped(300), stepped(300), runPolicy={"successPolicy": "AllWorkers"}).with_pod(
        "worker-0", exit_code=0
    )
    assert done.decide().status.attempt == 1


def test_as_often_as_the_limit_allows() -> None:
    world = watched(stepped(62, 41), stepped(63, 40), backoff_limit=1, attempt=2)

    status = world.decide().status

    assert (status.phase, status.reason) == ("Failed", "BackoffLimitExceeded")


def test_a_rule_may_name_the_reason() -> None:
    rules = {"failurePolicy": {"rules": [{"action": "Fail", "reasons": ["NoProgress"]}]}}

    assert watched(stepped(62, 41), stepped(63, 40), runPolicy=rules).decide().status.reason == "ReplicaFailed"


def test_a_lost_node_is_a_disruption_and_no_hang() -> None:
    world = watched(stepped(62), silent(62)).with_pod("worker-1", running=True, missed=True, phase="Running")

    assert world.decide().status.disruptions == 1


def test_its_peers_are_asked_once_the_leader_is_late() -> None:
    assert list(watched(stepped(14), stepped(14)).asked) == [FIRST]
    assert list(watched(stepped(15), stepped(15)).asked) == [FIRST, SECOND]
    assert list(watched(stepped(None), stepped(15)).asked) == [FIRST]
    assert list(watched(silent(15, before=None), stepped(1)).asked) == [FIRST, SECOND]


def test_with_parameter_servers_the_chief_tells_for_all() -> None:
    chief = ReplicaId(Role.CHIEF, 0)
    world = running_job(**parameter_servers(), runPolicy={"progressDeadlineSeconds": 60})
    world = replace(world.with_pods(ready=True, address="10.0.0.1"), heard={chief: stepped(60)})

    assert list(world.asked) == [chief]
    assert said(world)[1] == "NoProgress"


@pytest.mark.parametrize(("age", "seconds"), [(0, 15), (44, 15), (50, 11), (58, 5), (300, 5)])
def test_the_next_look_is_at_the_deadline_or_before(age: float, seconds: int) -> None:
    assert watched(stepped(age), stepped(None)).decide().wake_at == later(seconds=seconds)


def test_it_is_a_warning() -> None:
    events = watched(stepped(62, 41), stepped(63, 40)).decide(NOW).events

    assert [(event.type, event.reason) for event in events] == [("Warning", "NoProgress")]
