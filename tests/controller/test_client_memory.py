"""What the cluster in memory does in place of watches and of the controller manager."""

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.api_objects import EVENTS, JOBS, PODS, SERVICES, event, pod, service
from tests.controller.memory import Cluster
from tests.jobs import job_object


def test_the_history_tells_what_changed_since_a_version() -> None:
    """In memory alone: the operator leaves the watches of a real API server to kopf."""
    store = Cluster().store
    store.create(SERVICES, service("lab"))
    since = store.version

    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))
    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))
    store.delete(SERVICES, "lab", "a")

    told = store.changes(since)
    assert [(change.type, change.object["spec"]["selector"]["app"]) for change in told] == [
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    assert [change.version for change in told] == [since + 1, since + 2]
    assert store.changes(store.version) == []


def test_a_history_that_no_longer_reaches_back_says_so() -> None:
    """In memory alone: a real API server forgets after minutes, when it likes."""
    store = Cluster().store
    for number in range(1001):
        store.create(EVENTS, event("lab", f"event-{number}"))

    with pytest.raises(ApiError, match="too old resource version") as refused:
        store.changes(0)

    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    assert len(store.changes(1)) == 1000


def test_a_change_that_was_told_stays_as_it_was_told() -> None:
    store = Cluster().store
    store.create(SERVICES, service("lab"))
    (created,) = store.changes(0)

    store.update(SERVICES, "lab", "a", lambda obj: obj["spec"].update(selector={"app": "b"}))

    assert created.object["spec"]["selector"] == {"app": "a"}
    assert created.object["metadata"]["resourceVersion"] == "1"


def test_what_belongs_to_an_object_goes_with_it() -> None:
    """In memory alone: for a real API server this is the work of the controller manager."""
    store = Cluster().store
    store.create(JOBS, job_object())
    uid = store.find(JOBS, "lab", "qcnn")["metadata"]["uid"]
    for name in ("unbound", "bound"):
        owned = pod("lab", **({"nodeName": "node-1"} if name == "bound" else {}))
        owned["metadata"] |= {"name": name, "ownerReferences": [{"uid": uid, "controller": True}]}
        store.create(PODS, owned)
    store.create(PODS, pod("lab"))

    store.delete(JOBS, "lab", "qcnn")

    left = {found["metadata"]["name"]: found["metadata"] for found in store.select(PODS, None, {})}
    assert sorted(left) == ["a", "bound"]
    assert "deletionTimestamp" in left["bound"], "its kubelet stops it first"


def test_what_is_born_an_orphan_goes_too() -> None:
    store = Cluster().store
    store.create(JOBS, job_object())
    uid = store.find(JOBS, "lab", "qcnn")["metadata"]["uid"]
    store.delete(JOBS, "lab", "qcnn")
    late = service("lab")
    late["metadata"]["ownerReferences"] = [{"uid": uid, "controller": True}]

    store.create(SERVICES, late)

    assert list(store.select(SERVICES, None, {})) == []


def test_what_has_another_owner_left_stays() -> None:
    store = Cluster().store
    for name in ("one", "other"):
        store.create(SERVICES, service("lab", name))
    owners = [{"uid": found["metadata"]["uid"]} for found in store.select(SERVICES, None, {})]
    shared = pod("lab")
    shared["metadata"]["ownerReferences"] = owners
    store.create(PODS, shared)

    store.delete(SERVICES, "lab", "one")
    after_one = len(list(store.select(PODS, None, {})))
    store.delete(SERVICES, "lab", "other")

    assert after_one == 1
    assert list(store.select(PODS, None, {})) == []
