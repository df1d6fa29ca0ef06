"""What the cluster in memory does with finalizers and with admission."""

from datetime import UTC, datetime
from typing import Any

import pytest

from qtj.local.jobs import JobController
from qtj.local.store import ClusterStore
from qtj_operator.controller.client import ApiError, Resource

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PODS, SERVICES, JOBS = Resource.PODS, Resource.SERVICES, Resource.JOBS


def _manifest(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "it", "namespace": "lab", **more}, "spec": {}}


@pytest.fixture
def store() -> ClusterStore:
    """A cluster with a pod that runs and that somebody holds by a finalizer."""
    cluster = ClusterStore(lambda: NOON)
    cluster.create(PODS, _manifest(finalizers=["example.com/hold"]))
    cluster.update(PODS, "lab", "it", lambda pod: pod.update(spec={"nodeName": "node"}, status={"phase": "Running"}))
    return cluster


def _let_go(store: ClusterStore) -> None:
    store.update(PODS, "lab", "it", lambda pod: pod["metadata"].pop("finalizers"))


def _names(store: ClusterStore) -> list[str]:
    return [pod["metadata"]["name"] for pod in store.select(PODS, None, {})]


def test_a_finalizer_holds_a_pod_against_every_deletion(store: ClusterStore) -> None:
    store.delete(PODS, "lab", "it")
    store.delete(PODS, "lab", "it", force=True)
    store.remove(PODS, "lab", "it")
    assert store.find(PODS, "lab", "it")["metadata"]["deletionTimestamp"] == "2030-01-01T12:00:30Z"


def test_a_pod_that_was_forced_goes_with_its_last_finalizer(store: ClusterStore) -> None:
    store.delete(PODS, "lab", "it", force=True)
    _let_go(store)
    assert _names(store) == []


def test_a_pod_that_was_not_forced_waits_for_its_kubelet_as_well(store: ClusterStore) -> None:
    store.delete(PODS, "lab", "it")
    _let_go(store)
    assert _names(store) == ["it"]


@pytest.mark.parametrize(
    ("seconds", "end"),
    [(None, "2030-01-01T12:00:30Z"), (-5, "2030-01-01T12:00:01Z"), (7, "2030-01-01T12:00:07Z"),
     (9 * 10**18, "2039-12-30T12:00:00Z")],
)  # fmt: skip
def test_a_pod_has_the_grace_period_that_kubernetes_gives_it(seconds: int | None, end: str) -> None:
    store = ClusterStore(lambda: NOON)
    store.create(PODS, _manifest())
    spec = {"nodeName": "node", "terminationGracePeriodSeconds": seconds}
    store.update(PODS, "lab", "it", lambda pod: pod.update(spec=spec, status={"phase": "Running"}))

    store.delete(PODS, "lab", "it")

    assert store.find(PODS, "lab", "it")["metadata"]["deletionTimestamp"] == end


def test_a_pod_that_no_kubelet_runs_has_no_grace_period() -> None:
    store = ClusterStore(lambda: NOON)
    store.create(PODS, _manifest(finalizers=["example.com/hold"]))
    store.delete(PODS, "lab", "it")
    meta = store.find(PODS, "lab", "it")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2030-01-01T12:00:00Z", 0)


def test_a_forced_deletion_is_one_change_however_often_it_is_asked_for(store: ClusterStore) -> None:
    store.delete(PODS, "lab", "it", force=True)
    version = store.version
    store.delete(PODS, "lab", "it", force=True)
    assert store.version == version


def test_admission_adds_to_what_is_created_and_to_what_is_changed() -> None:
    store = ClusterStore(lambda: NOON, admit=lambda _resource, obj: obj["spec"].update(added=True))
    store.create(SERVICES, _manifest())
    store.update(SERVICES, "lab", "it", lambda service: service.update(spec={"ports": []}))
    assert store.find(SERVICES, "lab", "it")["spec"] == {"ports": [], "added": True}


def test_admission_that_puts_back_what_was_taken_makes_no_change() -> None:
    store = ClusterStore(lambda: NOON, admit=lambda _resource, obj: obj["spec"].update(added=True))
    store.create(SERVICES, _manifest())
    version = store.version
    store.update(SERVICES, "lab", "it", lambda service: service["spec"].pop("added"))
    assert store.version == version


def test_admission_does_not_see_a_status() -> None:
    seen: list[dict[str, Any]] = []
    store = ClusterStore(lambda: NOON, admit=lambda _resource, obj: seen.append(obj))
    store.create(PODS, _manifest())
    store.update(PODS, "lab", "it", lambda pod: pod["status"].update(phase="Running"))
    assert len(seen) == 1


def test_what_admission_refuses_is_not_stored() -> None:
    def refuse(_resource: Resource, _obj: dict[str, Any]) -> None:
        raise ApiError(422, "Invalid", "denied")

    store = ClusterStore(lambda: NOON, admit=refuse)
    with pytest.raises(ApiError, match="denied"):
        store.create(PODS, _manifest())
    assert _names(store) == []


def test_a_suspended_job_has_no_pod_until_it_is_resumed() -> None:
    store = ClusterStore(lambda: NOON)
    controller = JobController(store, lambda: NOON)
    store.create(JOBS, {**_manifest(), "spec": {"suspend": True, "template": {"metadata": {}, "spec": {}}}})
    assert not controller.step()
    store.update(JOBS, "lab", "it", lambda job: job["spec"].update(suspend=False))
    assert controller.step()
