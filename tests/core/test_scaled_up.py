"""More workers when the cluster has places again: `runPolicy.elastic`, and the probes that find them."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.core.decision import Create
from qtj_operator.core.obstacle import Obstacle
from qtj_operator.core.platform import Platform
from tests.core.test_resized import desired, new_pods
from tests.core.world import World, deleted_by, later, running_job, trained_job

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


def small(**elastic: Any) -> World:
    """Two of four workers train, since NOW."""
    world = running_job(workers=4, runPolicy={"elastic": {"minReplicas": 1, **elastic}})
    lost = world.with_pod("worker-1", disrupted=True, deleting=True).recorded().without_pods().recorded()
    without = lost.with_pods(ready=True).with_pod("worker-2", unscheduled=NO_ROOM).with_pod("worker-3")
    shrunk = without.with_status(attempt_start_time=later(seconds=1)).recorded(later(seconds=120)).without_pods()
    assert desired(shrunk) == 2
    return shrunk.recorded(later(seconds=120)).with_services().with_pods(ready=True).recorded(later(seconds=120))


def with_probe(world: World, index: int, **how: Any) -> World:
    (pod,) = running_job(workers=9).without_pods().with_pod(f"worker-{index}").pods
    return replace(world, pods=(*world.pods, replace(pod, attempt=world.attempt, probe=True, **how)))


def probed(**how: Any) -> World:
    """The same with both probes, that of worker-3 in the state that `how` says."""
    return with_probe(with_probe(small(), 2, node="node-b"), 3, **how)


DUE = later(seconds=720)


def created(world: World) -> list[Any]:
    """The pods that a pass creates once it is time."""
    return [each.manifest for each in world.decide(DUE).actions if isinstance(each, Create)]


def test_after_the_pause_pods_that_run_nothing_wait_for_places() -> None:
    world = small()

    early, probes = world.decide(later(seconds=719)), created(world)

    assert (early.actions, early.wake_at) == ((), DUE)
    assert [each["metadata"]["name"] for each in probes] == ["qcnn-worker-2", "qcnn-worker-3"]
    assert [each["spec"]["containers"][0]["command"] for each in probes] == [["true"], ["true"]]
    assert world.decide(DUE).status == world.job.status


def test_while_they_wait_training_goes_on() -> None:
    waiting = with_probe(with_probe(small(), 2, unscheduled=NO_ROOM), 3, unscheduled=NO_ROOM)

    decision = waiting.decide(later(hours=9))

    assert (decision.actions, decision.status, decision.events) == ((), waiting.job.status, ())


@pytest.mark.parametrize(("state", "workers"), [({"node": "node-b"}, 4), ({"unscheduled": NO_ROOM}, 3)])
def test_as_many_workers_as_have_a_place_train_in_the_next_attempt(state: dict[str, Any], workers: int) -> None:
    world = probed(**state)

    grown = world.recorded(DUE)
    started = grown.without_pods()

    assert (grown.attempt, desired(grown), grown.job.status.reason) == (world.attempt + 1, workers, "Resizing")
    assert grown.job.status.restarts == 0
    assert f"there are places for {workers} workers" in [each.message for each in world.decide(DUE).events]
    assert sorted(deleted_by(grown.decide(DUE))) == [f"qcnn-worker-{index}" for index in range(4)]
    assert len(new_pods(replace(started, pods=()))) == workers


def test_it_waits_for_what_the_scheduler_says_about_each() -> None:
    assert probed().decide(DUE).status.attempt == small().attempt


def test_it_grows_once_in_a_while() -> None:
    grown = probed(unscheduled=NO_ROOM).recorded(DUE).without_pods().recorded(DUE)
    world = grown.with_services().with_pods(ready=True).recorded(DUE)

    assert world.decide(later(seconds=1319)).actions == ()
    assert len(world.decide(later(seconds=1320)).actions) == 1


def test_it_grows_above_what_the_spec_asks_for_up_to_the_maximum() -> None:
    world = running_job(workers=2, runPolicy={"elastic": {"minReplicas": 1, "maxReplicas": 3}}).recorded()
    world = world.with_status(active_since=later(seconds=0))

    assert world.decide(later(seconds=599)).actions == ()
    assert len(world.decide(later(seconds=600)).actions) == 1
    assert with_probe(world, 2, node="b").decide(later(seconds=600)).status.replicas["Worker"].desired == 3


def test_with_all_its_workers_nothing_is_looked_for() -> None:
    world = running_job(workers=4, runPolicy={"elastic": {"minReplicas": 1}})

    assert (world.decide(later(hours=9)).actions, world.decide().wake_at) == ((), None)


def test_a_quota_without_room_for_a_probe_leaves_the_others() -> None:
    full = Obstacle(Reason.CHILD_REJECTED, "exceeded quota", due=later(hours=1))
    none, one = replace(small(), obstacle=full), replace(with_probe(small(), 2, node="b"), obstacle=full)

    assert (none.decide(DUE).actions, none.decide(DUE).status.phase) == ((), "Running")
    assert one.decide(DUE).status.replicas["Worker"].desired == 3


def test_a_probe_that_its_node_refuses_found_no_place() -> None:
    refused = running_job(workers=9).without_pods().with_pod("worker-3", reason="OutOfcpu").pods[0].ending
    assert refused is not None
    world = probed(node="node-b", ending=replace(refused, by_kubelet=True), phase="Failed")

    assert world.decide(DUE).status.replicas["Worker"].desired == 3
    none = with_probe(with_probe(small(), 2, unscheduled=NO_ROOM), 3, node="node-b", disrupted=True)
    assert deleted_by(none.decide(DUE)) == ["qcnn-worker-3"]


def test_a_probe_is_no_replica() -> None:
    status = probed(unscheduled=NO_ROOM).decide(later(seconds=300)).status

    assert (status.phase, status.ready, status.replicas["Worker"].failed) == ("Running", "2/2", 0)


def test_probes_go_when_the_gang_stops_or_has_trained_or_ended() -> None:
    lost = probed().with_pod("worker-1", exit_code=137).recorded(DUE)
    suspended = probed().with_spec(suspend=True).recorded(DUE)
    trained = trained_job(workers=2, inference={}, runPolicy={"elastic": {"minReplicas": 1, "maxReplicas": 4}})
    failed = trained_job(workers=2, weights=None).recorded()

    assert "qcnn-worker-3" in deleted_by(lost.decide(DUE))
    assert "qcnn-worker-3" in deleted_by(suspended.decide(DUE))
    assert deleted_by(with_probe(trained, 3).decide()) == ["qcnn-worker-3"]
    assert deleted_by(with_probe(failed, 3).decide(DUE)) == ["qcnn-worker-3"]


def test_probes_go_when_the_job_is_no_longer_elastic() -> None:
    world = running_job(workers=2, runPolicy={"elastic": {"minReplicas": 1, "maxReplicas": 3}})

    assert deleted_by(with_probe(world, 2).with_spec(runPolicy={}).decide()) == ["qcnn-worker-2"]


def test_on_one_machine_no_place_is_looked_for() -> None:
    here = replace(small(), platform=Platform(shares_nodes=False))

    assert here.decide(later(hours=9)).actions == ()
