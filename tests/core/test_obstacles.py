"""What keeps a job from running: images, nodes, and children that the API server refuses."""

from dataclasses import replace
from datetime import datetime

import pytest

from qtj_operator.api.conditions import Reason
from qtj_operator.core.obstacle import Obstacle
from tests.core.conditions import running
from tests.core.world import NOW, World, later, new_job, running_job, starting_job


def refused(world: World, now: datetime = NOW) -> World:
    """The world after a pass whose creations the API server refused."""
    obstacle = Obstacle(Reason.CHILD_REJECTED, "exceeded quota")
    return replace(replace(world, obstacle=obstacle).recorded(now), obstacle=None)


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_an_image_that_cannot_be_pulled_is_named(reason: str) -> None:
    world = starting_job().with_pod("worker-1", waiting=(reason, "no such host"))

    assert running(world).reason == "ImageNotPulled"
    assert running(world).message == (
        'image "registry.example/trainer:1" of qcnn-worker-1 cannot be pulled (no such host): '
        "check that the node reaches the registry"
    )


DENIED = "pull access denied, repository does not exist or may require authorization: server message: denied"
ABSENT = 'failed to resolve reference "registry.example/trainer:1": registry.example/trainer:1: not found'
REFUSED = "dial tcp 127.0.0.1:80: connect: connection refused"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (DENIED, "check its name, and that imagePullSecrets of the template allow to pull it"),
        (ABSENT, "correct its name or its tag"),
        (REFUSED, "check that the node reaches the registry"),
        ("context deadline exceeded", "check that the node reaches the registry"),
        ("no space left on device", "check its name and whether the node may pull it"),
    ],
    ids=["denied", "absent", "refused", "late", "other"],
)
def test_an_image_that_cannot_be_pulled_is_explained_in_the_words_of_the_kubelet(words: str, hint: str) -> None:
    """The kubelet of Kubernetes 1.34 says the same while it tries and between two tries, in other wrappings."""
    tries = starting_job().with_pod("worker-1", waiting=("ErrImagePull", f"rpc error: code = Unknown desc = {words}"))
    backs_off = f'Back-off pulling image "registry.example/trainer:1": ErrImagePull: {words}'
    waits = starting_job().with_pod("worker-1", waiting=("ImagePullBackOff", backs_off))

    told = f'image "registry.example/trainer:1" of qcnn-worker-1 cannot be pulled ({words}): {hint}'
    assert running(tries).message == running(waits).message == told


def test_the_words_of_the_kubelet_stay_where_it_says_only_that_it_waits() -> None:
    """As the kubelet of Kubernetes 1.30 does between two tries."""
    tried = starting_job().with_pod("worker-1", waiting=("ErrImagePull", "no such host")).recorded()

    silent = 'Back-off pulling image "registry.example/trainer:1"'
    waits = tried.with_pod("worker-1", waiting=("ImagePullBackOff", silent))

    assert running(waits).message == running(tried).message
    other = tried.with_pod("worker-1", waiting=None).with_pod("worker-0", waiting=("ImagePullBackOff", silent))
    assert running(other).message.endswith("worker-0 cannot be pulled: check its name and whether the node may pull it")


def test_long_words_of_the_kubelet_keep_their_end_which_names_the_cause() -> None:
    words = "failed to do request: " * 50 + "x509: certificate signed by unknown authority"

    message = running(starting_job().with_pod("worker-1", waiting=("ErrImagePull", words))).message

    assert "(... " in message
    assert "x509: certificate signed by unknown authority)" in message
    assert len(message) < 500


def test_another_reason_why_a_container_does_not_start_is_the_kubelets() -> None:
    world = starting_job().with_pod("worker-0", waiting=("CreateContainerConfigError", 'secret "gcs" not found'))

    assert running(world).reason == "ContainerNotStarted"
    assert running(world).message == 'qcnn-worker-0 cannot start (CreateContainerConfigError): secret "gcs" not found'


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing"])
def test_a_container_that_is_being_created_is_no_obstacle(reason: str) -> None:
    assert running(starting_job().with_pod("worker-0", waiting=(reason, ""))).reason == "Starting"


def test_a_pod_that_no_node_takes_is_explained_by_the_scheduler() -> None:
    world = starting_job().with_pod("worker-1", unscheduled="0/3 nodes are available: 3 Insufficient cpu.")

    assert running(world).reason == "Unschedulable"
    assert running(world).message == "no node can run qcnn-worker-1: 0/3 nodes are available: 3 Insufficient cpu."


def test_an_obstacle_stays_after_a_restart() -> None:
    world = running_job(attempt=2).with_pod("worker-1", unscheduled="0/3 nodes are available")

    assert running(world).reason == "Unschedulable"


def test_an_obstacle_is_reported_once() -> None:
    world = starting_job().with_pod("worker-1", waiting=("ErrImagePull", "not found"))

    assert [event.reason for event in world.decide().events] == ["ImageNotPulled"]
    assert world.recorded().decide().events == ()


def test_a_child_that_was_refused_keeps_the_job_from_running() -> None:
    status = refused(new_job().recorded()).job.status

    assert (status.phase, status.reason) == ("Pending", "ChildRejected")


def test_a_refusal_leaves_alone_what_else_is_known_of_the_job() -> None:
    resumed = running_job().with_spec(suspend=True).recorded().with_spec(suspend=False).recorded().without_pods()

    status = refused(resumed).job.status

    assert [(c.type, c.reason) for c in status.conditions or ()] == [
        ("Running", "ChildRejected"),
        ("Suspended", "Resumed"),
        ("Reconciling", "ChildRejected"),
    ]
    assert status.observed_generation == 3


def test_a_running_gang_of_which_a_service_is_refused_runs_on_and_has_one_event() -> None:
    world = running_job().without_service("worker-1")
    obstacle = Obstacle(Reason.CHILD_REJECTED, "exceeded quota", due=later(minutes=1), is_new=True)
    met, later_on = (replace(world, obstacle=each).decide() for each in (obstacle, replace(obstacle, is_new=False)))

    assert (met.status.phase, [event.message for event in met.events]) == ("Running", ["exceeded quota"])
    assert (met.actions, met.wake_at) == ((), later(minutes=1))
    assert (later_on.status, later_on.events) == (met.status, ())


def test_a_template_that_the_server_calls_malformed_fails_a_job_of_which_nothing_ran() -> None:
    obstacle = Obstacle(Reason.CHILD_REJECTED, "no such field", malformed=True)
    fresh, ran = (
        replace(world, obstacle=obstacle).decide()
        for world in (starting_job().without_pods(), running_job(attempt=2).without_pods())
    )

    assert (fresh.status.phase, fresh.actions) == ("Failed", ())
    assert ran.status.phase != "Failed"
