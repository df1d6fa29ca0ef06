"""Children that are missing, or that no longer look as they were built."""

from dataclasses import replace

import pytest

from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.core.decision import Create, Delete, Kind, Restore
from qtj_operator.core.pod_group import PodGroup, PodGroups
from qtj_operator.manifests.service import replica_service
from tests.core.created import created
from tests.core.world import later, new_job, running_job, starting_job, trained_job


def test_services_come_before_pods_for_a_pod_looks_up_its_peers_as_soon_as_it_runs() -> None:
    assert created(new_job(chief=True, workers=1).recorded()) == [
        "Service qcnn-chief-0",
        "Service qcnn-worker-0",
        "Pod qcnn-chief-0",
        "Pod qcnn-worker-0",
    ]


def test_all_pods_of_a_gang_are_created_at_once() -> None:
    assert len(created(new_job(workers=50).recorded())) == 100


def test_only_what_is_missing_is_created() -> None:
    assert created(starting_job(workers=3).without_pod("worker-1").without_service("worker-2")) == [
        "Service qcnn-worker-2",
        "Pod qcnn-worker-1",
    ]


def test_a_complete_gang_needs_nothing() -> None:
    assert created(running_job()) == []


def test_a_failed_pod_is_not_replaced_in_its_own_attempt() -> None:
    assert created(running_job().with_pod("worker-1", exit_code=137)) == []


def test_a_pod_that_is_on_its_way_out_holds_its_name() -> None:
    decision = starting_job().with_pod("worker-1", deleting=True).decide()

    assert decision.actions == ()
    assert decision.wake_at == later(seconds=45), "its node has 15 s beyond the pod's deadline to let go of it"


def test_a_pod_whose_node_does_not_let_go_of_it_is_removed_without() -> None:
    decision = starting_job().with_pod("worker-1", deleting=True).decide(later(seconds=45))

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@1", force=True),)


def test_a_pod_that_is_waited_for_keeps_no_other_from_coming() -> None:
    world = starting_job(workers=3).with_pod("worker-1", deleting=True).without_pod("worker-2")

    assert created(world) == ["Pod qcnn-worker-2"]
    assert world.decide().wake_at == later(seconds=45)


def test_a_pod_that_is_lost_before_the_gang_ran_is_created_again_in_the_same_attempt() -> None:
    (create,) = starting_job(attempt=3).without_pod("worker-1").decide().actions

    assert isinstance(create, Create)
    assert create.manifest["metadata"]["labels"]["quantumtraining.dev/attempt"] == "3"


def test_once_training_has_ended_nothing_is_created_again() -> None:
    assert created(trained_job().without_pods().without_service("worker-0")) == []


@pytest.mark.parametrize(
    "edit",
    [
        {"ports": [{"name": "grpc", "port": 2222, "targetPort": 2222, "protocol": "TCP"}]},
        {"ports": []},
        {"selector": {"app": "mine"}},
        {"publishNotReadyAddresses": False},
    ],
)
def test_a_service_that_somebody_edited_is_brought_back(edit: dict[str, object]) -> None:
    world = running_job()

    decision = world.with_service("worker-1", **edit).decide()

    built = replica_service(world.job, ReplicaId(Role.WORKER, 1))["spec"]
    promised = {field: built[field] for field in ("ports", "selector", "publishNotReadyAddresses")}
    assert decision.actions == (Restore(Kind.SERVICE, "qcnn-worker-1", "qcnn-worker-1-version", promised),)
    assert [(event.type, event.reason) for event in decision.events] == [("Warning", "ServiceRepaired")]


GRPC = {"name": "grpc", "port": 2222, "targetPort": 2222, "protocol": "TCP"}
PROFILER = {"name": "profiler", "port": 2223, "targetPort": 2223, "protocol": "TCP"}
METRICS = {"name": "metrics", "port": 2224, "targetPort": 2224, "protocol": "TCP"}
MESH = {"name": "mesh", "port": 15021, "targetPort": 15021, "protocol": "TCP"}
HTTP2 = {"appProtocol": "http2"}


@pytest.mark.parametrize(
    "ports",
    [
        [{**GRPC, **HTTP2}, PROFILER, METRICS],
        [GRPC, PROFILER, METRICS, MESH],
        [METRICS, GRPC, PROFILER],
    ],
)
def test_what_others_add_to_ports_is_theirs(ports: list[dict[str, object]]) -> None:
    assert running_job().with_service("worker-1", ports=ports).decide().actions == ()


@pytest.mark.parametrize(
    ("found", "repaired"),
    [
        ([{**GRPC, **HTTP2}, METRICS, MESH], [{**GRPC, **HTTP2}, PROFILER, METRICS, MESH]),
        ([{**GRPC, **HTTP2, "port": 80}, PROFILER, METRICS], [{**GRPC, **HTTP2}, PROFILER, METRICS]),
        ([{**GRPC, "targetPort": "grpc"}, PROFILER, METRICS], [GRPC, PROFILER, METRICS]),
        ([{**GRPC, **HTTP2, "name": "tcp-grpc"}, PROFILER, METRICS], [{**GRPC, **HTTP2}, PROFILER, METRICS]),
        ([{**GRPC, "port": 80}, {**MESH, "port": 2222}, PROFILER, METRICS], [GRPC, PROFILER, METRICS]),
        (
            [{**MESH, "protocol": "UDP", "port": 2222}, GRPC, METRICS],
            [GRPC, PROFILER, METRICS, {**MESH, "protocol": "UDP", "port": 2222}],
        ),
        ([{"port": 2222}], [GRPC, PROFILER, METRICS]),
        (None, [GRPC, PROFILER, METRICS]),
    ],
)
def test_a_repair_keeps_what_others_added_where_ours_leaves_room(
    found: list[dict[str, object]] | None, repaired: list[dict[str, object]]
) -> None:
    (repair,) = running_job().with_service("worker-1", ports=found).decide().actions

    assert isinstance(repair, Restore)
    assert repair.fields["ports"] == repaired


def test_two_ports_whose_numbers_were_swapped_are_swapped_back() -> None:
    swapped = [{**GRPC, **HTTP2, "port": 2224}, PROFILER, {**METRICS, "port": 2222}]

    (repair,) = running_job().with_service("worker-1", ports=swapped).decide().actions

    assert isinstance(repair, Restore)
    assert repair.fields["ports"] == [{**GRPC, **HTTP2}, PROFILER, METRICS]


def test_once_training_has_ended_services_are_left_as_they_are() -> None:
    assert trained_job().with_service("worker-1", selector={"app": "mine"}).decide().actions == ()


def test_all_services_that_were_edited_are_named_in_one_event() -> None:
    decision = running_job().with_service("worker-0", ports=[]).with_service("worker-1", ports=[]).decide()

    assert [event.message for event in decision.events] == ["restored edited Services: qcnn-worker-0, qcnn-worker-1"]


def test_fields_that_the_api_server_adds_are_no_edit() -> None:
    world = running_job().with_service("worker-1", ipFamilies=["IPv4"], sessionAffinity="None")

    assert world.decide().actions == ()


def test_a_repair_does_not_change_the_status() -> None:
    world = running_job()

    assert world.with_service("worker-1", ports=[]).decide().status == world.job.status


GANG = {"schedulingPolicy": {"gang": True}}


def test_a_gang_gets_its_group_before_its_pods() -> None:
    decision = new_job(runPolicy=GANG, evaluator=True).recorded().decide()

    kinds = [action.manifest["kind"] for action in decision.actions if isinstance(action, Create)]
    groups = [
        action for action in decision.actions if isinstance(action, Create) and action.manifest["kind"] == "PodGroup"
    ]
    assert kinds.index("PodGroup") < kinds.index("Pod")
    assert [group.manifest["spec"] for group in groups] == [{"minMember": 2}]


def test_a_group_that_is_there_is_left_alone() -> None:
    world = replace(running_job(runPolicy=GANG), pod_groups=PodGroups(current=PodGroup("qcnn", "1", 2)))

    assert world.decide().actions == ()


def test_a_deleted_group_is_created_again() -> None:
    (create,) = running_job(runPolicy=GANG).decide().actions

    assert isinstance(create, Create)
    assert create.manifest["kind"] == "PodGroup"


def test_nobody_gets_a_group_who_did_not_ask_for_one() -> None:
    assert running_job().decide().actions == ()


def test_pods_of_an_earlier_attempt_are_deleted_before_new_ones_come() -> None:
    world = starting_job(attempt=2).with_pod("worker-0", attempt=1, ready=True).without_pod("worker-1")

    decision = world.decide()

    assert decision.actions == (Delete(Kind.POD, "qcnn-worker-0", "qcnn-worker-0@1"),)


def test_a_pod_that_is_on_its_way_out_is_not_deleted_again_and_still_waited_for() -> None:
    world = running_job(attempt=2).with_pods(attempt=1, deleting=True)

    assert world.decide().actions == ()


def test_the_gang_restarts_once_the_last_old_pod_is_gone() -> None:
    decision = starting_job(attempt=2).without_pods().decide()

    created = [action.manifest for action in decision.actions if isinstance(action, Create)]
    assert [pod["metadata"]["name"] for pod in created] == ["qcnn-worker-0", "qcnn-worker-1"]
    assert {pod["metadata"]["labels"]["quantumtraining.dev/attempt"] for pod in created} == {"2"}


def test_a_pod_that_somebody_relabelled_is_replaced_for_it_may_be_of_any_attempt() -> None:
    world = running_job(attempt=2).with_pod("worker-1", attempt=0, ready=True)

    assert world.decide().actions == (Delete(Kind.POD, "qcnn-worker-1", "qcnn-worker-1@0"),)


def test_an_old_pods_end_counts_for_nothing() -> None:
    decision = running_job(attempt=2).with_pods(attempt=1, exit_code=1).decide()

    assert decision.status.phase == "Restarting"
    assert decision.status.failures == ()


def test_an_old_leaders_success_counts_for_nothing() -> None:
    decision = running_job(attempt=2).with_pods(attempt=1, exit_code=0).decide()

    assert decision.status.phase == "Restarting"
