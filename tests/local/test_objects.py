"""Objects as a kube-apiserver keeps them."""

from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from qtj.local.objects import copied, essence, grace_of, is_held, is_run, owners_of, replaced
from qtj_operator.controller.client import Resource

PODS, JOBS = Resource.PODS, Resource.QUANTUM_TRAINING_JOBS


def pod(phase: str = "Running", *, node: str | None = "node", **meta: Any) -> dict[str, Any]:
    spec = {"nodeName": node} if node else {}
    return {"metadata": {"name": "it", **meta}, "spec": spec, "status": {"phase": phase}}


def test_a_copy_shares_nothing_that_can_be_changed() -> None:
    inner = {"list": [{"a": 1}], "text": "x", "flag": True, "nothing": None, "number": 0.5}
    original = {"spec": inner}

    copy = copied(original)
    inner["list"] = [{"a": 2}]

    assert copy == {"spec": {"list": [{"a": 1}], "text": "x", "flag": True, "nothing": None, "number": 0.5}}


def test_a_copy_is_made_of_dicts_and_lists_alone() -> None:
    copy = copied({"spec": MappingProxyType({"names": ("a", "b")})})

    assert type(copy["spec"]) is dict
    assert copy == {"spec": {"names": ["a", "b"]}}


def test_a_replaced_object_keeps_its_status_and_what_the_server_wrote() -> None:
    stored = {**pod("Running", uid="1", resourceVersion="7"), "spec": {"a": 1}}

    new = replaced(
        stored, {"metadata": {"name": "it", "labels": {"x": "y"}}, "spec": {"b": 2}, "status": {}}, status=False
    )

    assert new == {
        "metadata": {"name": "it", "uid": "1", "resourceVersion": "7", "labels": {"x": "y"}},
        "spec": {"b": 2},
        "status": {"phase": "Running"},
    }


def test_an_object_without_a_status_gets_none_by_being_replaced() -> None:
    assert "status" not in replaced({"metadata": {}, "spec": {}}, {"metadata": {}, "status": {"a": 1}}, status=False)


def test_a_replaced_status_changes_nothing_else() -> None:
    stored = pod("Pending", uid="1")

    new = replaced(stored, {"metadata": {"uid": "2"}, "spec": {"other": 1}, "status": {"phase": "Failed"}}, status=True)

    assert new == pod("Failed", uid="1")
    assert stored == pod("Pending", uid="1")


def test_the_essence_is_what_a_generation_counts() -> None:
    assert essence({**pod(), "kind": "Pod"}) == {"spec": {"nodeName": "node"}, "kind": "Pod"}


def test_all_owners_count() -> None:
    assert owners_of(pod(ownerReferences=[{"uid": "1"}, {"uid": "2"}])) == {"1", "2"}
    assert owners_of(pod()) == owners_of(pod(ownerReferences=None)) == set()


@pytest.mark.parametrize(
    ("seconds", "grace"), [(None, 30), (0, 0), (1, 1), (-1, 1), (-(10**12), 1), (45, 45), (10**18, 315_360_000)]
)
def test_the_grace_period_is_that_of_kubernetes(seconds: int | None, grace: int) -> None:
    assert grace_of({"spec": {"terminationGracePeriodSeconds": seconds}}) == timedelta(seconds=grace)
    assert grace_of({"spec": {}}) == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("phase", "runs"), [("Pending", True), ("Running", True), ("Succeeded", False), ("Failed", False)]
)
def test_a_pod_with_a_node_runs_until_it_has_ended(phase: str, runs: bool) -> None:
    assert is_run(PODS, pod(phase)) == is_held(PODS, pod(phase)) == runs
    assert not is_run(PODS, pod(phase, node=None))
    assert not is_run(JOBS, pod(phase))


def test_a_pod_that_was_forced_is_not_held_by_its_kubelet() -> None:
    assert is_held(PODS, pod(deletionGracePeriodSeconds=1))
    assert not is_held(PODS, pod(deletionGracePeriodSeconds=0))


def test_a_finalizer_holds_whatever_has_it() -> None:
    assert is_held(PODS, pod("Failed", finalizers=["a"], deletionGracePeriodSeconds=0))
    assert is_held(JOBS, {"metadata": {"finalizers": ["a"]}})
    assert not is_held(JOBS, {"metadata": {"finalizers": []}})
