"""What other controllers do to pods, as conditions report it: queues, finalizers, lost nodes."""

from typing import Any

from qtj_operator.core.decision import Delete, Kind
from tests.core.world import World, inferring_job, later, parameter_servers, running_job, starting_job

MANAGED = ("kueue.x-k8s.io/managed",)
GATES = ("kueue.x-k8s.io/admission",)
QUEUED: dict[str, Any] = {"runPolicy": {"schedulingPolicy": {"queueName": "research"}}}


def condition(world: World, kind: str, **delta: float) -> tuple[str, str, str]:
    found = next(c for c in world.decide(later(**delta)).status.conditions or () if c.type == kind)
    return found.status, found.reason, found.message


def test_a_pod_behind_a_scheduling_gate_is_queued_and_no_cause_for_a_warning() -> None:
    world = starting_job(**QUEUED).with_pod("worker-0", gates=GATES).with_pod("worker-1", gates=GATES)

    assert condition(world, "Running") == (
        "False",
        "Queued",
        "qcnn-worker-0 waits to be admitted by its queue (scheduling gate kueue.x-k8s.io/admission)",
    )
    assert [event.type for event in world.decide().events] == ["Normal"]


def test_what_holds_an_old_pod_up_is_named_once_its_time_is_over() -> None:
    world = running_job().with_pod("worker-1", exit_code=137).recorded()
    world = world.with_pods(attempt=1, exit_code=137, deleting=True, finalizers=MANAGED)

    assert condition(world, "Running", seconds=44)[1] == "Restarting"
    assert condition(world, "Running", seconds=45) == (
        "False",
        "Terminating",
        f"pod qcnn-worker-0 is being deleted and waits for other controllers to remove their finalizers: {MANAGED[0]}",
    )
    assert world.decide(later(seconds=45)).actions == (), "no force removes a finalizer"


def test_what_holds_a_pod_of_a_suspended_job_up_is_named() -> None:
    world = running_job().with_spec(suspend=True).recorded()
    world = world.with_pods(exit_code=137, deleting=True, finalizers=MANAGED)

    assert condition(world, "Running")[2] == "the job is suspended"
    assert condition(world, "Running", seconds=45)[2].startswith("the job is suspended, but pod qcnn-worker-0 is being")


def test_inference_that_waits_in_its_queue_is_pending_without_a_warning() -> None:
    world = inferring_job(**QUEUED).with_inference(suspended=True)
    decision = world.decide()

    assert decision.status.inference is not None
    assert decision.status.inference.phase == "Pending"
    assert condition(world, "Complete") == ("False", "Queued", "qcnn-inference waits to be admitted by its queue")
    assert [event.type for event in decision.events] == ["Normal"]


def test_inference_on_a_lost_node_is_run_again_by_another_job() -> None:
    """Its Job holds the pod by a finalizer, and runs another one only after it has stopped, which is never reported."""
    world = inferring_job().with_inference(ready=True, deadline=later(seconds=30))
    name = "qcnn-inference-x7k2p"

    assert world.decide(later(seconds=44)).actions == ()
    assert world.decide(later(seconds=44)).wake_at == later(seconds=45)
    told = world.recorded(later(seconds=45))
    assert told.decide(later(seconds=45)).actions == (
        Delete(Kind.POD, name, "qcnn-worker-0@1", force=True),
        Delete(Kind.JOB, "qcnn-inference", "inference-version"),
    )
    gone = told.recorded(later(seconds=45)).without_inference()
    assert len(gone.decide(later(seconds=46)).actions) == 1, "another one is created"


def test_a_pod_of_inference_on_a_node_that_answers_is_waited_for_and_named() -> None:
    world = inferring_job().with_inference(ready=True, deadline=later(seconds=30), node="node-7", node_ready=True)

    assert world.decide(later(seconds=45)).actions == ()
    assert condition(world, "Complete", seconds=45)[1] == "Terminating"


def test_a_queued_parameter_server_job_restarts_as_a_whole() -> None:
    """Kueue keeps a failed pod of a group until another takes its place, and ours would need its name."""
    world = running_job(**parameter_servers(**QUEUED)).with_pod("worker-1", exit_code=137)

    assert world.decide().status.attempt == 2
    assert running_job(**parameter_servers()).with_pod("worker-1", exit_code=137).decide().status.attempt == 1


def test_a_pod_that_is_deleted_while_its_group_is_queued_needs_another_group() -> None:
    """Kueue evicts a group that is not ready in time: it keeps the pods until none is left, and runs it no more."""
    world = starting_job(**QUEUED).with_pod("worker-1", deleting=True, finalizers=MANAGED)

    status = world.decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)
    assert starting_job().with_pod("worker-1", deleting=True).decide().status.attempt == 1


def test_a_queued_group_of_which_one_has_finished_and_gone_needs_another_group() -> None:
    """Kueue admits a group when as many pods exist as it was made with, and the finished one does not come again."""
    world = starting_job(**QUEUED).with_pod("worker-1", exit_code=0).recorded().without_pods()

    status = world.decide().status

    assert (status.attempt, status.restarts, status.disruptions) == (2, 0, 1)
    unqueued = starting_job().with_pod("worker-1", exit_code=0).recorded().without_pods()
    assert unqueued.decide().status.attempt == 1
