"""In whose API a gang has its group, what the group is, and when groups go."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.core.decision import Create, Delete, Kind, Restore
from qtj_operator.core.pod_group import PodGroup, PodGroups
from tests.core.world import World, new_job
from tests.jobs import a_template

GANG = {"schedulingPolicy": {"gang": True}}
OWN = PodGroup("qcnn-1", "7", 2)
OF_PLUGIN = PodGroup("qcnn", "5", 2)


def gang(**pod: Any) -> Job:
    return new_job(runPolicy=GANG, template=a_template(**pod)).recorded().job


@pytest.mark.parametrize(
    ("native", "plugin", "expected"),
    [
        pytest.param(None, None, PodGroups(), id="neither: its creation says what is missing"),
        pytest.param(None, [], PodGroups(), id="the plugin's"),
        pytest.param(None, [OF_PLUGIN], PodGroups(current=OF_PLUGIN), id="the plugin's, which is there"),
        pytest.param([], None, PodGroups(native=True), id="that of Kubernetes"),
        pytest.param([], [], PodGroups(native=True), id="both: that of Kubernetes"),
        pytest.param([OWN], [], PodGroups(native=True, current=OWN), id="that of Kubernetes, which is there"),
        pytest.param([], [OF_PLUGIN], PodGroups(current=OF_PLUGIN), id="a job that has a group of the plugin keeps it"),
    ],
)
def test_a_gang_has_its_group_where_the_cluster_serves_one(
    native: list[PodGroup] | None, plugin: list[PodGroup] | None, expected: PodGroups
) -> None:
    assert PodGroups.of(gang(), native, plugin) == expected


def test_pods_that_name_another_scheduler_have_the_group_that_it_reads() -> None:
    named = gang(schedulerName="coscheduling")

    assert PodGroups.of(named, [], []) == PodGroups(native=False)
    assert PodGroups.of(named, [], None) == PodGroups(native=True), "it may be a second one of Kubernetes"
    assert PodGroups.of(gang(schedulerName="default-scheduler"), [], []) == PodGroups(native=True)


def test_groups_of_earlier_attempts_are_told_apart_and_go_once() -> None:
    before, going = PodGroup("qcnn-0", "3", 2), PodGroup("qcnn-00", "4", 2, deleting=True)

    assert PodGroups.of(gang(), [going, before, OWN], None) == PodGroups(native=True, current=OWN, former=(before,))


def starting(**groups: Any) -> World:
    world = new_job(runPolicy=GANG, evaluator=True).recorded()
    return replace(world, pod_groups=PodGroups(native=True, **groups))


def test_pods_name_a_group_of_kubernetes_which_is_there_before_them() -> None:
    created = [each for each in starting().decide().actions if isinstance(each, Create)]

    kinds = [create.kind for create in created]
    group = created[kinds.index(Kind.NATIVE_POD_GROUP)].manifest
    named = {
        pod["metadata"]["name"]: pod["spec"].get("schedulingGroup")
        for pod in (create.manifest for create in created if create.kind is Kind.POD)
    }
    assert kinds.index(Kind.NATIVE_POD_GROUP) < kinds.index(Kind.POD)
    assert (group["apiVersion"], group["metadata"]["name"]) == ("scheduling.k8s.io/v1beta1", "qcnn-1")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert named == {
        "qcnn-worker-0": {"podGroupName": "qcnn-1"},
        "qcnn-worker-1": {"podGroupName": "qcnn-1"},
        "qcnn-evaluator-0": None,
    }


def test_a_group_gets_the_number_of_its_members_and_those_before_it_go() -> None:
    actions = starting(current=PodGroup("qcnn-1", "7", 9), former=(PodGroup("qcnn-0", "3", 2),)).decide().actions

    assert [each for each in actions if not isinstance(each, Create)] == [
        Delete(Kind.NATIVE_POD_GROUP, "qcnn-0", "3"),
        Restore(Kind.NATIVE_POD_GROUP, "qcnn-1", "7", {"schedulingPolicy": {"gang": {"minCount": 2}}}),
    ]
    assert Kind.NATIVE_POD_GROUP not in [each.kind for each in actions if isinstance(each, Create)]
