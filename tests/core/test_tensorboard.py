"""TensorBoard beside the job."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.api.status import TensorBoardStatus
from qtj_operator.core.decision import Decision, Restore
from qtj_operator.core.observed_tensorboard import Board
from qtj_operator.core.platform import CLUSTER, Platform
from tests.core.tensorboards import NAME, URL, called, deployment, served, with_board
from tests.core.world import World, complete_job, inferring_job, later, new_job, running_job, starting_job

CREATED = [f"Create Service {NAME}", f"Create Deployment {NAME}"]
DELETED = f"Delete Deployment {NAME}"
NO_IMAGE = 'image "x:1" of qcnn-tensorboard-0 cannot be pulled: check its name and whether the node may pull it'


def asked(world: World, **spec: Any) -> World:
    """The same job, now with `spec.tensorboard`."""
    return world.with_spec(tensorboard=spec)


def actions_of(decision: Decision) -> list[str]:
    return [called(action) for action in decision.tensorboard_actions]


def restored(world: World) -> Restore:
    """The one repair of a pass."""
    (action,) = world.decide().tensorboard_actions
    assert isinstance(action, Restore)
    return action


def test_a_job_that_does_not_ask_for_it_has_none() -> None:
    decision = running_job().decide()

    assert (decision.tensorboard_actions, decision.status.tensorboard) == ((), None)


def test_it_starts_with_the_first_attempt() -> None:
    world = new_job(tensorboard={})

    before = world.decide()
    after = world.recorded().decide()

    assert actions_of(before) == [], "this pass changes the record, and nothing else"
    assert actions_of(after) == CREATED
    assert [called(action) for action in after.actions][-1] == "Create Pod qcnn-worker-1", "training does not wait"


def test_a_job_that_is_refused_has_none() -> None:
    world = new_job(tensorboard={}, artifacts={"uri": "file:///nowhere"}).recorded()

    assert world.job.has_failed
    assert actions_of(world.decide()) == []


@pytest.mark.parametrize("world", [running_job(), starting_job(), inferring_job(), complete_job()])
def test_it_is_created_whenever_it_is_missing(world: World) -> None:
    assert actions_of(asked(world).decide()) == CREATED


@pytest.mark.parametrize("world", [running_job(), inferring_job(), complete_job()])
def test_nothing_is_done_about_one_that_is_as_built(world: World) -> None:
    assert actions_of(with_board(asked(world), available=True).decide()) == []


def test_the_status_shows_where_it_is() -> None:
    world = asked(running_job())

    starting = world.decide().status.tensorboard
    ready = with_board(world, available=True).decide().status.tensorboard

    assert starting == TensorBoardStatus(url=URL, ready=False)
    assert ready == TensorBoardStatus(url=URL, ready=True)


def test_its_port_is_part_of_the_address() -> None:
    status = asked(running_job(), port=80).decide().status.tensorboard

    assert status is not None
    assert status.url == "http://qcnn-tensorboard.lab.svc:80"


def test_an_image_that_cannot_be_pulled_is_reported_once_and_the_training_continues() -> None:
    world = with_board(asked(running_job()), trouble=NO_IMAGE)

    first = world.decide()
    second = world.recorded().decide()

    assert first.status.tensorboard == TensorBoardStatus(url=URL, ready=False, message=NO_IMAGE)
    assert [(event.reason, event.message) for event in first.events] == [("TensorBoardNotReady", NO_IMAGE)]
    assert second.events == ()
    assert first.status.phase == "Running"


def test_it_is_deleted_when_the_field_is_removed_and_its_service_after_it() -> None:
    world = with_board(asked(running_job()), available=True).recorded()

    removed = world.with_spec(tensorboard=None)
    gone = replace(removed, board=Board())
    over = replace(gone, services=running_job().services)

    assert actions_of(removed.decide()) == [DELETED]
    assert removed.decide().status.tensorboard is None
    assert actions_of(gone.decide()) == [f"Delete Service {NAME}"]
    assert actions_of(over.decide()) == []


def test_a_pass_that_changes_the_record_does_nothing_about_it() -> None:
    world = asked(running_job()).with_pod("worker-1", exit_code=137)

    assert world.decide().status.attempt == 2
    assert actions_of(world.decide()) == []


def test_its_deletion_is_awaited() -> None:
    world = with_board(asked(running_job()), deleting=True, spec={"replicas": 3})

    assert actions_of(world.decide()) == []
    assert actions_of(world.with_spec(tensorboard=None).decide()) == []


def test_a_suspended_job_has_no_pod_of_it() -> None:
    suspended = with_board(asked(running_job()), available=True).with_spec(suspend=True).recorded()

    assert restored(suspended).fields["replicas"] == 0
    assert suspended.decide().status.tensorboard == TensorBoardStatus(url=URL, ready=False)


def test_trouble_of_a_pod_that_is_to_go_is_not_reported() -> None:
    suspended = with_board(asked(running_job()).with_spec(suspend=True).recorded(), trouble=NO_IMAGE)

    assert suspended.decide().status.tensorboard == TensorBoardStatus(url=URL, ready=False)


def test_it_starts_again_when_the_job_is_resumed() -> None:
    world = asked(running_job()).with_spec(suspend=True).recorded()
    stopped = with_board(world)
    resumed = stopped.with_spec(suspend=False).recorded()

    assert actions_of(stopped.decide()) == []
    assert restored(resumed).fields["replicas"] == 1


def test_nothing_is_created_for_a_suspended_job() -> None:
    world = asked(running_job()).with_spec(suspend=True).recorded()

    assert actions_of(world.decide()) == []


@pytest.mark.parametrize(
    "edited",
    [
        {"replicas": 3},
        {"template": {"spec": {"containers": [{"name": "tensorboard", "image": "other:1"}]}}},
        {"template": {"spec": {"containers": []}}},
        {"template": {}},
    ],
)
def test_an_edited_deployment_is_restored(edited: dict[str, Any]) -> None:
    world = with_board(asked(running_job()), spec=edited)

    repair = restored(world)

    assert (repair.kind, repair.name, repair.version) == ("Deployment", NAME, f"{NAME}-version")
    built = deployment(world)["spec"]
    assert repair.fields == {"replicas": 1, "template": built["template"]}


def test_fields_that_an_api_server_or_an_administrator_adds_stay() -> None:
    world = asked(running_job())
    template = deployment(world)["spec"]["template"]
    template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "2030-01-01T12:00:00Z"
    template["spec"]["dnsPolicy"] = "ClusterFirst"
    template["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"})
    template["spec"]["containers"][0]["resources"] = {"limits": {"memory": "8Gi"}}

    assert actions_of(with_board(world, spec={"template": template}).decide()) == []


@pytest.mark.parametrize(
    "edited",
    [
        {"selector": {"app": "other"}},
        {"type": "LoadBalancer"},
        {"ports": [{"name": "http", "port": 6006, "targetPort": 1, "protocol": "TCP"}]},
    ],
)
def test_an_edited_service_is_restored(edited: dict[str, Any]) -> None:
    world = served(with_board(asked(running_job()), available=True), **edited)

    repair = restored(world)

    assert (repair.kind, repair.name) == ("Service", NAME)
    assert repair.fields["type"] == "ClusterIP"
    assert repair.fields["ports"] == [{"name": "http", "port": 6006, "targetPort": 6006, "protocol": "TCP"}]


def test_the_port_of_the_node_stays() -> None:
    world = asked(running_job(), serviceType="NodePort")
    port = {"name": "http", "port": 6006, "targetPort": 6006, "protocol": "TCP", "nodePort": 30123}

    assert actions_of(served(with_board(world), ports=[port]).decide()) == []
    assert restored(served(with_board(world), ports=[{**port, "targetPort": 1}])).fields["ports"] == [port]


@pytest.mark.parametrize("change", [{"image": "lab/tensorboard:2"}, {"resources": {"limits": {"memory": "4Gi"}}}])
def test_a_change_of_the_spec_is_applied(change: dict[str, Any]) -> None:
    world = with_board(asked(running_job()), available=True)

    repair = restored(asked(world, **change))

    (container,) = repair.fields["template"]["spec"]["containers"]
    assert change.items() <= container.items()


def test_an_operator_with_another_image_replaces_it() -> None:
    world = with_board(asked(running_job()), available=True)
    upgraded = replace(world, platform=replace(CLUSTER, tensorboard_image="qtj-tensorboard:next"))

    (container,) = restored(upgraded).fields["template"]["spec"]["containers"]

    assert container["image"] == "qtj-tensorboard:next"


def test_one_that_gets_the_operators_own_account_later_stays_as_it_is_and_says_why() -> None:
    world = with_board(asked(running_job()), available=True)
    own = replace(world.platform, account=(world.job.namespace, "qtj-operator"))

    edited = asked(replace(world, platform=own), serviceAccountName="qtj-operator").decide()
    fresh = asked(replace(running_job(), platform=own), serviceAccountName="qtj-operator").decide()

    sentence = "spec.tensorboard names the operator's own service account: name one of your own"
    assert edited.status.tensorboard == TensorBoardStatus(url=URL, ready=True, message=sentence)
    assert actions_of(edited) == actions_of(fresh) == []
    assert edited.status.phase == "Running"


def test_a_job_whose_fixed_fields_were_edited_keeps_what_it_has() -> None:
    world = with_board(asked(running_job()), available=True, spec={"replicas": 3})
    edited = world.with_status(fixed_digest="another")

    assert actions_of(edited.decide()) == []


def test_a_job_whose_fixed_fields_were_edited_says_why_tensorboard_stays_as_it_is() -> None:
    edited = with_board(asked(running_job()), available=True).with_status(fixed_digest="another")

    decision = edited.decide()

    why = "TensorBoard stays as it is: a field of the job that cannot be changed was changed, see the condition"
    assert decision.status.tensorboard == TensorBoardStatus(url=URL, ready=True, message=f"{why} SpecIgnored")
    assert [each.message for each in decision.events if each.reason == "TensorBoardNotReady"] == [f"{why} SpecIgnored"]


def test_a_pass_that_deletes_the_job_does_nothing_about_it() -> None:
    world = asked(complete_job(runPolicy={"ttlSecondsAfterFinished": 5}))

    assert actions_of(world.decide(later(seconds=60))) == []


def test_without_the_right_to_read_deployments_it_is_left_alone() -> None:
    why = "the operator cannot read TensorBoard: forbidden"
    world = replace(asked(running_job()), board=Board(trouble=why, readable=False))

    decision = world.decide()

    assert actions_of(decision) == []
    assert decision.status.tensorboard == TensorBoardStatus(url=URL, ready=False, message=why)


def test_a_service_stays_while_nobody_knows_whether_there_is_a_deployment() -> None:
    world = served(asked(running_job())).with_spec(tensorboard=None)
    unknown = replace(world, board=Board(readable=False))

    assert actions_of(unknown.decide()) == [], "without its Service, the Deployment would not be found any more"


def test_a_machine_without_kubernetes_starts_none() -> None:
    here = replace(asked(running_job()), platform=Platform(keeps_files=True))

    assert (actions_of(here.decide()), here.decide().status.tensorboard) == ([], None)


def removed_while_its_service_is_not_seen(*, service: bool, deployment: bool) -> World:
    """The field was removed and the label of the Service lost, while the operator was down."""
    world = with_board(running_job(tensorboard={}), available=True).with_status(
        tensorboard=TensorBoardStatus(url=URL, ready=True)
    )
    assert world.board is not None
    left = Board(
        deployment=world.board.deployment if deployment else None, service=world.services[NAME] if service else None
    )
    services = {name: each for name, each in world.services.items() if name != NAME}
    return replace(world.with_spec(tensorboard=None), board=left, services=services)


@pytest.mark.parametrize(
    ("service", "deployment", "actions"),
    [
        (True, True, [f"Delete Deployment {NAME}"]),
        (False, True, [f"Delete Deployment {NAME}"]),
        (True, False, [f"Delete Service {NAME}"]),
        (False, False, []),
    ],
)
def test_what_only_the_status_shows_is_deleted_and_reported_until_it_is_gone(
    *, service: bool, deployment: bool, actions: list[str]
) -> None:
    decision = removed_while_its_service_is_not_seen(service=service, deployment=deployment).decide()

    assert [called(action) for action in decision.tensorboard_actions] == actions
    assert (decision.status.tensorboard is not None) is bool(actions)
