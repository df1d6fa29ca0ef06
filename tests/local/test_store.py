"""The cluster in memory keeps the books of a kube-apiserver: versions, owners, history, finalizers and admission."""

from datetime import UTC, datetime
from typing import Any

import pytest

from qtj.local.jobs import JobController
from qtj.local.store import Change, ClusterStore
from qtj_operator.controller.client import ApiError, Resource

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PODS, SERVICES, JOBS, NODES = Resource.PODS, Resource.SERVICES, Resource.JOBS, Resource.NODES


def manifest(name: str = "it", *, namespace: str = "lab", spec: Any = None, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, **meta}, "spec": spec or {}}


def owned_by(*uids: str) -> dict[str, Any]:
    return {"ownerReferences": [{"uid": uid} for uid in uids]}


@pytest.fixture
def seen() -> list[Change]:
    """What a watch of the cluster saw."""
    return []


@pytest.fixture
def store(seen: list[Change]) -> ClusterStore:
    return ClusterStore(lambda: NOON, seen.append)


def names(store: ClusterStore, resource: Resource = PODS, namespace: str | None = None, **labels: str) -> list[str]:
    return [each["metadata"]["name"] for each in store.select(resource, namespace, labels)]


def change_spec(store: ClusterStore, **spec: Any) -> None:
    store.update(SERVICES, "lab", "it", lambda obj: obj["spec"].update(spec))


def test_a_new_object_has_what_a_server_gives_it(store: ClusterStore) -> None:
    created = store.create(SERVICES, {**manifest(), "status": {"mine": True}})

    assert created["metadata"] == {
        "name": "it",
        "namespace": "lab",
        "uid": "00000000-0000-4000-8000-000000000001",
        "creationTimestamp": "2030-01-01T12:00:00Z",
        "generation": 1,
        "resourceVersion": "1",
    }
    assert "status" not in created
    assert store.find(SERVICES, "lab", "it") == created


def test_a_new_pod_is_pending_whatever_its_manifest_says(store: ClusterStore) -> None:
    assert store.create(PODS, {**manifest(), "status": {"phase": "Running"}})["status"] == {"phase": "Pending"}


def test_a_name_is_taken_within_its_kind_and_namespace(store: ClusterStore) -> None:
    store.create(PODS, manifest())
    store.create(PODS, manifest(namespace="other"))
    store.create(SERVICES, manifest())

    with pytest.raises(ApiError, match='pods "it" already exists') as problem:
        store.create(PODS, manifest())
    assert (problem.value.code, problem.value.reason) == (409, "AlreadyExists")


def test_what_is_not_there_is_not_found(store: ClusterStore) -> None:
    with pytest.raises(ApiError, match='pods "it" not found') as problem:
        store.find(PODS, "lab", "it")
    assert (problem.value.code, problem.value.reason) == (404, "NotFound")


def test_objects_are_selected_by_namespace_and_by_all_labels(store: ClusterStore) -> None:
    store.create(PODS, manifest("b", labels={"job": "toy", "role": "worker"}))
    store.create(PODS, manifest("a", labels={"job": "toy"}))
    store.create(PODS, manifest("c", namespace="other", labels={"job": "toy", "role": "worker"}))
    store.create(PODS, manifest("d", labels=None))

    assert names(store) == ["a", "b", "d", "c"]
    assert names(store, namespace="lab", job="toy") == ["a", "b"]
    assert names(store, job="toy", role="worker") == ["b", "c"]
    assert names(store, namespace="nowhere") == []


def test_a_reader_is_not_held_up_by_what_goes_meanwhile(store: ClusterStore) -> None:
    for name in ("a", "b", "c"):
        store.create(PODS, manifest(name))
    reading = store.select(PODS, None, {})
    assert next(reading)["metadata"]["name"] == "a"

    store.delete(PODS, "lab", "b")

    assert [each["metadata"]["name"] for each in reading] == ["c"]


def test_every_change_has_the_next_version_and_no_change_has_none(store: ClusterStore, seen: list[Change]) -> None:
    store.create(SERVICES, manifest())
    change_spec(store, port=1)
    change_spec(store, port=1)
    store.update(SERVICES, "lab", "it", lambda obj: obj.update(status={"ready": True}))
    store.delete(SERVICES, "lab", "it")

    assert [(each.type, each.version) for each in seen] == [
        ("ADDED", 1), ("MODIFIED", 2), ("MODIFIED", 3), ("DELETED", 4),
    ]  # fmt: skip
    assert store.version == 4


def test_the_generation_counts_changes_of_what_is_wanted_alone(store: ClusterStore) -> None:
    store.create(SERVICES, manifest())
    change_spec(store, port=1)
    store.update(SERVICES, "lab", "it", lambda obj: obj.update(status={"ready": True}))
    store.update(SERVICES, "lab", "it", lambda obj: obj["metadata"].update(labels={"a": "b"}))

    assert store.find(SERVICES, "lab", "it")["metadata"]["generation"] == 2


def test_what_was_read_does_not_change(store: ClusterStore) -> None:
    before = store.create(SERVICES, manifest())
    change_spec(store, port=1)

    assert before["spec"] == {}
    assert before["metadata"]["resourceVersion"] == "1"


def test_a_status_is_replaced_by_its_own_request_alone(store: ClusterStore) -> None:
    created = store.create(SERVICES, manifest())
    store.replace(SERVICES, {**created, "spec": {"port": 1}, "status": {"ready": True}}, status=True)
    found = store.find(SERVICES, "lab", "it")
    assert (found["spec"], found["status"], found["metadata"]["generation"]) == ({}, {"ready": True}, 1)

    store.replace(SERVICES, {**found, "spec": {"port": 1}, "status": {"ready": False}})
    found = store.find(SERVICES, "lab", "it")
    assert (found["spec"], found["status"], found["metadata"]["generation"]) == ({"port": 1}, {"ready": True}, 2)


def test_an_object_of_an_old_version_replaces_nothing(store: ClusterStore) -> None:
    old = store.create(SERVICES, manifest())
    change_spec(store, port=1)

    with pytest.raises(ApiError, match="the object has been modified") as problem:
        store.replace(SERVICES, old)
    assert (problem.value.code, problem.value.reason) == (409, "Conflict")

    store.replace(SERVICES, {**old, "metadata": {"name": "it", "namespace": "lab"}})
    assert store.find(SERVICES, "lab", "it")["spec"] == {}


def test_an_object_of_an_old_version_is_not_deleted(store: ClusterStore) -> None:
    store.create(SERVICES, manifest())
    change_spec(store, port=1)

    with pytest.raises(ApiError, match="the resourceVersion in the precondition does not match") as problem:
        store.delete(SERVICES, "lab", "it", "1")
    assert problem.value.code == 409

    store.delete(SERVICES, "lab", "it", "2")
    assert names(store, SERVICES) == []


def test_what_an_owner_owned_goes_with_it_and_so_on(store: ClusterStore) -> None:
    job = store.create(JOBS, manifest("job"))
    pod = store.create(PODS, manifest("pod", **owned_by(job["metadata"]["uid"])))
    store.create(SERVICES, manifest("service", **owned_by(pod["metadata"]["uid"])))
    store.create(SERVICES, manifest("free"))

    store.delete(JOBS, "lab", "job")

    assert (names(store, PODS), names(store, SERVICES)) == ([], ["free"])


def test_an_object_with_another_owner_stays(store: ClusterStore) -> None:
    one, two = (store.create(JOBS, manifest(name))["metadata"]["uid"] for name in ("one", "two"))
    store.create(PODS, manifest("pod", **owned_by(one, two)))

    store.delete(JOBS, "lab", "one")
    assert names(store) == ["pod"]

    store.delete(JOBS, "lab", "two")
    assert names(store) == []


def test_what_is_created_for_an_owner_that_is_gone_goes_at_once(store: ClusterStore, seen: list[Change]) -> None:
    job = store.create(JOBS, manifest("job"))
    store.delete(JOBS, "lab", "job")

    store.create(PODS, manifest("late", **owned_by(job["metadata"]["uid"])))

    assert names(store) == []
    assert [each.type for each in seen[-2:]] == ["ADDED", "DELETED"]


def test_a_pod_that_is_run_is_only_marked_and_the_first_deletion_decides_when(store: ClusterStore) -> None:
    store.create(PODS, manifest(spec={"nodeName": "node", "terminationGracePeriodSeconds": 60}))
    store.delete(PODS, "lab", "it")
    store.update(PODS, "lab", "it", lambda pod: pod["spec"].update(terminationGracePeriodSeconds=5))
    store.delete(PODS, "lab", "it")

    meta = store.find(PODS, "lab", "it")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2030-01-01T12:01:00Z", 60)

    store.update(PODS, "lab", "it", lambda pod: pod.update(status={"phase": "Succeeded"}))
    assert names(store) == []


def test_a_restored_object_is_as_it_was(store: ClusterStore, seen: list[Change]) -> None:
    store.create(PODS, manifest("a"))
    assert names(store) == ["a"]
    old = {**manifest("old", uid="uid-1", generation=7), "status": {"phase": "Running"}}

    store.restore(PODS, old)

    found = store.find(PODS, "lab", "old")
    assert (found["metadata"]["uid"], found["metadata"]["generation"]) == ("uid-1", 7)
    assert found["status"] == {"phase": "Running"}
    assert names(store) == ["a", "old"]
    assert seen[-1].type == "ADDED"


def test_admission_may_change_a_new_object_and_refuse_it() -> None:
    def admit(_: Resource, obj: dict[str, Any]) -> None:
        if obj["spec"].get("evil"):
            raise ApiError(403, "Forbidden", "no")
        obj["spec"]["admitted"] = True

    store = ClusterStore(lambda: NOON, admit=admit)

    assert store.create(PODS, manifest())["spec"] == {"admitted": True}
    with pytest.raises(ApiError, match="no"):
        store.create(PODS, manifest("other", spec={"evil": True}))
    with pytest.raises(ApiError, match="no"):
        store.update(PODS, "lab", "it", lambda pod: pod["spec"].update(evil=True))
    assert names(store) == ["it"]
    assert store.find(PODS, "lab", "it")["spec"] == {"admitted": True}

    store.update(PODS, "lab", "it", lambda pod: pod.update(status={"evil": True}))  # a status is not admitted
    assert store.find(PODS, "lab", "it")["status"] == {"evil": True}


def test_a_watch_goes_on_after_the_version_that_it_knows(store: ClusterStore) -> None:
    store.create(SERVICES, manifest())
    change_spec(store, port=1)
    change_spec(store, port=2)

    assert [each.object["spec"].get("port") for each in store.changes(1)] == [1, 2]
    assert store.changes(3) == ClusterStore(lambda: NOON).changes(0) == []


def test_a_watch_that_is_too_far_behind_has_to_list_again(store: ClusterStore) -> None:
    store.create(SERVICES, manifest())
    for port in range(1000):
        change_spec(store, port=port)

    assert len(store.changes(1)) == 1000
    with pytest.raises(ApiError, match=r"too old resource version: 0 \(2\)") as problem:
        store.changes(0)
    assert (problem.value.code, problem.value.reason) == (410, "Expired")


def test_an_object_without_a_namespace_is_found_without_one(store: ClusterStore) -> None:
    store.create(NODES, {"metadata": {"name": "node"}, "spec": {}})

    assert store.find(NODES, "", "node")["metadata"]["name"] == "node"
    assert names(store, NODES) == ["node"]


@pytest.fixture
def held() -> ClusterStore:
    """A cluster with a pod that runs and that somebody holds by a finalizer."""
    cluster = ClusterStore(lambda: NOON)
    cluster.create(PODS, manifest(finalizers=["example.com/hold"]))
    cluster.update(PODS, "lab", "it", lambda pod: pod.update(spec={"nodeName": "node"}, status={"phase": "Running"}))
    return cluster


def _let_go(store: ClusterStore) -> None:
    store.update(PODS, "lab", "it", lambda pod: pod["metadata"].pop("finalizers"))


def test_a_finalizer_holds_a_pod_against_every_deletion(held: ClusterStore) -> None:
    held.delete(PODS, "lab", "it")
    held.delete(PODS, "lab", "it", force=True)
    held.remove(PODS, "lab", "it")
    assert held.find(PODS, "lab", "it")["metadata"]["deletionTimestamp"] == "2030-01-01T12:00:30Z"


def test_a_pod_that_was_forced_goes_with_its_last_finalizer(held: ClusterStore) -> None:
    held.delete(PODS, "lab", "it", force=True)
    _let_go(held)
    assert names(held) == []


def test_a_pod_that_was_not_forced_waits_for_its_kubelet_as_well(held: ClusterStore) -> None:
    held.delete(PODS, "lab", "it")
    _let_go(held)
    assert names(held) == ["it"]


def test_a_pod_that_no_kubelet_runs_has_no_grace_period() -> None:
    store = ClusterStore(lambda: NOON)
    store.create(PODS, manifest(finalizers=["example.com/hold"]))
    store.delete(PODS, "lab", "it")
    meta = store.find(PODS, "lab", "it")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2030-01-01T12:00:00Z", 0)


def test_a_forced_deletion_is_one_change_however_often_it_is_asked_for(held: ClusterStore) -> None:
    held.delete(PODS, "lab", "it", force=True)
    version = held.version
    held.delete(PODS, "lab", "it", force=True)
    assert held.version == version


def test_admission_adds_to_what_is_created_and_to_what_is_changed() -> None:
    store = ClusterStore(lambda: NOON, admit=lambda _resource, obj: obj["spec"].update(added=True))
    store.create(SERVICES, manifest())
    store.update(SERVICES, "lab", "it", lambda service: service.update(spec={"ports": []}))
    assert store.find(SERVICES, "lab", "it")["spec"] == {"ports": [], "added": True}


def test_admission_that_puts_back_what_was_taken_makes_no_change() -> None:
    store = ClusterStore(lambda: NOON, admit=lambda _resource, obj: obj["spec"].update(added=True))
    store.create(SERVICES, manifest())
    version = store.version
    store.update(SERVICES, "lab", "it", lambda service: service["spec"].pop("added"))
    assert store.version == version


def test_a_suspended_job_has_no_pod_until_it_is_resumed() -> None:
    store = ClusterStore(lambda: NOON)
    controller = JobController(store, lambda: NOON)
    store.create(JOBS, {**manifest(), "spec": {"suspend": True, "template": {"metadata": {}, "spec": {}}}})
    assert not controller.step()
    store.update(JOBS, "lab", "it", lambda job: job["spec"].update(suspend=False))
    assert controller.step()
