"""Another number of replicas in `spec.replicaSpecs`, while the job is in any stage of its life."""

import json
from typing import Any

import pytest

from qtj_operator.core.decision import Create, Delete, Kind, Restore
from qtj_operator.core.pod_group import PodGroup, PodGroups
from tests.core.world import (
    World,
    complete_job,
    deleted_by,
    inferring_job,
    parameter_servers,
    running_job,
    starting_job,
    trained_job,
)


def scaled(world: World, **sizes: int) -> World:
    """The user asks for other numbers of replicas."""
    roles = world.job.asked.model_dump(by_alias=True, exclude_none=True)["replicaSpecs"]
    return world.with_spec(replicaSpecs={**roles, **{role: {"replicas": size} for role, size in sizes.items()}})


def desired(world: World, role: str = "Worker") -> int:
    return world.job.status.replicas[role].desired


def told(world: World) -> list[tuple[str, str, str]]:
    return [(event.type, event.reason, event.message) for event in world.decide().events]


def new_pods(world: World) -> list[Any]:
    """The pods that the pass creates."""
    return [each.manifest for each in world.decide().actions if isinstance(each, Create) and each.kind == Kind.POD]


def cluster_of(world: World) -> Any:
    """The cluster in TF_CONFIG of each pod that the pass creates; all are equal."""
    found = [
        json.loads(next(v["value"] for v in pod["spec"]["containers"][0]["env"] if v["name"] == "TF_CONFIG"))["cluster"]
        for pod in new_pods(world)
    ]
    assert all(each == found[0] for each in found)
    return found[0]


@pytest.mark.parametrize(("size", "ready"), [(4, "2/4"), (1, "1/1")], ids=["grows", "shrinks"])
def test_the_next_attempt_has_the_number_that_is_asked_for(size: int, ready: str) -> None:
    running = running_job(workers=2)

    scaled_job = scaled(running, Worker=size).recorded()
    begun = scaled_job.without_pods()

    assert (scaled_job.attempt, desired(scaled_job), scaled_job.job.status.ready) == (2, size, ready)
    assert deleted_by(scaled_job.decide()) == ["qcnn-worker-0", "qcnn-worker-1"]
    assert [pod["metadata"]["name"] for pod in new_pods(begun)] == [f"qcnn-worker-{n}" for n in range(size)]
    assert len(cluster_of(begun)["worker"]) == size


def test_it_is_neither_a_failure_nor_a_disruption_and_needs_no_pause() -> None:
    status = scaled(running_job(backoff_limit=0, runPolicy={"disruptionLimit": 0}), Worker=3).recorded().job.status

    assert (status.restarts, status.disruptions, status.consecutive_failures, status.failures) == (0, None, None, ())
    assert (status.phase, status.reason) == ("Restarting", "Resizing")


def test_status_and_event_say_from_what_to_what() -> None:
    world = scaled(running_job(**parameter_servers()), Worker=4, PS=2)

    (running,) = (each for each in world.decide().status.conditions if each.type == "Running")
    assert running.message == "Worker from 2 to 4, PS from 1 to 2: all replicas restart as attempt 2"
    assert told(world) == [("Normal", "Resizing", "Worker from 2 to 4, PS from 1 to 2 in attempt 2")]


def test_until_all_replicas_run_again_the_reason_stays() -> None:
    waiting = scaled(running_job(), Worker=3).recorded().without_pods().with_services().with_pods().recorded()

    assert (waiting.job.status.reason, waiting.job.status.ready) == ("Resizing", "0/3")
    assert waiting.with_pods(ready=True).decide().status.reason == "AllReplicasReady"


def test_services_of_replicas_that_are_no_more_are_deleted_when_the_others_start() -> None:
    world = scaled(running_job(workers=3), Worker=1).recorded()
    before, started = world.decide().actions, world.without_pods().decide().actions

    assert not [each for each in before if getattr(each, "kind", None) == Kind.SERVICE]
    assert [each.name for each in started if isinstance(each, Delete)] == ["qcnn-worker-1", "qcnn-worker-2"]


def test_an_edit_in_the_middle_of_an_attempt_changes_nothing_of_that_attempt() -> None:
    """The operator was killed after it had created one of two pods, and meanwhile the user asks for four."""
    half = starting_job().without_pod("worker-1").recorded()

    job = scaled(half, Worker=4).job

    assert (job.size, [each.index for each in job.replicas()]) == (2, [0, 1])


def test_a_second_edit_before_the_first_has_pods_is_another_attempt() -> None:
    first = scaled(running_job(), Worker=4).recorded()

    second = scaled(first, Worker=3).recorded()

    assert (second.attempt, desired(second)) == (3, 3)
    assert deleted_by(second.decide()) == ["qcnn-worker-0", "qcnn-worker-1"]


def test_the_number_that_the_attempt_has_already_changes_nothing() -> None:
    there_and_back = scaled(scaled(running_job(), Worker=4), Worker=2)

    assert there_and_back.decide().actions == ()
    assert (there_and_back.decide().status.attempt, told(there_and_back)) == (1, [])


def test_one_that_is_written_where_it_was_left_out_changes_nothing() -> None:
    world = running_job(replicaSpecs={"Worker": {}})

    assert scaled(world, Worker=1).decide().status.attempt == 1


def test_the_workers_of_parameter_servers_restart_with_the_others() -> None:
    world = scaled(running_job(**parameter_servers(workers=2)), Worker=3).recorded()

    assert deleted_by(world.decide()) == ["qcnn-chief-0", "qcnn-worker-0", "qcnn-worker-1", "qcnn-ps-0"]
    assert len(cluster_of(world.without_pods())["worker"]) == 3


def test_a_failure_that_is_seen_at_the_same_time_counts_and_the_next_attempt_has_the_new_number() -> None:
    world = scaled(running_job(), Worker=3).with_pod("worker-1", exit_code=137)

    status = world.decide().status

    assert (status.attempt, status.restarts, status.replicas["Worker"].desired) == (2, 1, 3)
    assert ("Normal", "Resizing", "Worker from 2 to 3 in attempt 2") in told(world)


def test_a_program_that_ends_because_of_the_restart_is_no_failure() -> None:
    world = scaled(running_job(backoff_limit=0), Worker=3).recorded()

    ended = world.with_pod("worker-0", attempt=1, exit_code=75).with_pod("worker-1", attempt=1, exit_code=143)

    assert (ended.decide().status.phase, ended.decide().status.restarts) == ("Restarting", 0)


def test_a_suspended_job_takes_the_number_when_it_is_resumed() -> None:
    suspended = running_job().with_spec(suspend=True).recorded().without_pods().recorded()

    edited = scaled(suspended, Worker=4)
    resumed = edited.with_spec(suspend=False)

    assert (edited.decide().status.attempt, edited.decide().actions) == (1, ())
    assert edited.decide().status.replicas["Worker"].desired == 2
    assert (resumed.decide().status.attempt, resumed.decide().status.replicas["Worker"].desired) == (2, 4)
    assert ("Normal", "Resizing", "Worker from 2 to 4 in attempt 2") in told(resumed)


def test_a_queued_job_enters_its_queue_again_as_a_group_of_the_new_size() -> None:
    world = scaled(running_job(runPolicy={"schedulingPolicy": {"queueName": "team"}}), Worker=3).recorded()

    pods = new_pods(world.without_pods())

    groups = {pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] for pod in pods}
    assert groups == {f"qcnn-{world.job.uid[:8]}-2"}
    assert {pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] for pod in pods} == {"3"}


def test_the_group_of_a_gang_gets_the_new_number_before_its_pods_are_there() -> None:
    gang = running_job(runPolicy={"schedulingPolicy": {"gang": True}})
    groups = PodGroups(current=PodGroup("qcnn", "7", 2))
    world = World(job=gang.job, pods=gang.pods, services=gang.services, pod_groups=groups)

    actions = scaled(world, Worker=3).recorded().without_pods().decide().actions

    kinds = [each.kind for each in actions if each.kind in {Kind.POD_GROUP, Kind.POD}]
    assert kinds == [Kind.POD_GROUP, Kind.POD, Kind.POD, Kind.POD]
    (restored,) = (each for each in actions if isinstance(each, Restore))
    assert restored.fields == {"minMember": 3}


@pytest.mark.parametrize(
    "world", [trained_job(inference={}), inferring_job(), complete_job()], ids=lambda w: w.job.name
)
def test_once_it_has_trained_the_number_has_no_effect_and_the_job_says_so(world: World) -> None:
    decision = scaled(world, Worker=4).decide()

    status = decision.status
    assert (status.attempt, status.replicas["Worker"].desired, status.phase) == (1, 2, world.decide().status.phase)
    (ignored,) = (each for each in status.conditions if each.type == "SpecIgnored")
    assert (ignored.status, ignored.reason) == ("True", "ResizeIgnored")
    assert ignored.message == "Worker from 2 to 4 has no effect: training has ended"
    assert scaled(scaled(world, Worker=4).recorded(), Worker=2).decide().status.conditions[-2].reason == "SpecApplied"


def test_replicas_that_end_after_the_leader_are_not_restarted_for_it() -> None:
    world = running_job(runPolicy={"successPolicy": "AllWorkers"}).with_pod("worker-0", exit_code=0).recorded()

    assert scaled(world, Worker=4).decide().status.attempt == 1


def test_a_failed_job_takes_the_number_when_it_is_tried_again() -> None:
    failed = running_job().with_pod("worker-0", exit_code=1).recorded()

    edited = scaled(failed, Worker=4)

    assert (edited.decide().status.phase, edited.decide().status.attempt) == ("Failed", 1)
    assert "SpecIgnored" not in [each.type for each in edited.decide().status.conditions]
    assert edited.with_spec(retry=1).decide().status.replicas["Worker"].desired == 4


def test_a_number_that_can_never_run_is_refused_in_one_sentence_and_training_continues() -> None:
    world = scaled(running_job(**parameter_servers(namespace="n" * 60)), Worker=1000, PS=1000)

    status = world.decide().status

    assert (status.attempt, status.phase) == (1, "Running")
    (ignored,) = (each for each in status.conditions if each.type == "SpecIgnored")
    assert ignored.message.startswith("Worker from 2 to 1000, PS from 1 to 1000 has no effect: TF_CONFIG")
    assert world.with_pod("chief-0", exit_code=137).decide().status.replicas["Worker"].desired == 2


def test_it_waits_while_another_field_is_edited_that_cannot_be_changed() -> None:
    world = scaled(running_job(), Worker=4)

    edited = world.with_status(fixed_digest="of another spec")

    assert (edited.decide().status.attempt, edited.decide().actions) == (1, ())
    assert edited.recorded().with_status(fixed_digest=world.job.fixed_digest).decide().status.attempt == 2


def test_checkpoints_of_jobs_with_the_same_spec_stay_those_of_the_job() -> None:
    world = running_job(artifacts={"uri": "gs://lab-bucket/qcnn", "reusePolicy": "SameSpec"})

    assert scaled(world, Worker=4).recorded().job.training_id == world.job.training_id


def test_a_job_of_an_operator_that_did_not_record_the_digest_is_as_it_was() -> None:
    world = running_job().with_status(fixed_digest=None)

    assert world.decide().status.fixed_digest == world.job.fixed_digest
    assert world.with_status(spec_digest="another").decide().status.fixed_digest is None
