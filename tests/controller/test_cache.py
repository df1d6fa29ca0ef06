"""What the operator has in mind of the cluster: always the newest state, in whatever order states arrive."""

import gc
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import pytest

from qtj_operator.controller.cache import AWAITED, Cache
from qtj_operator.controller.client import Resource
from qtj_operator.controller.trim import PackedJob

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS

Pod = dict[str, Any]


def pod(version: int, name: str = "qcnn-worker-0", *, uid: str = "u", job: str | None = "qcnn", **more: Any) -> Pod:
    labels = {} if job is None else {"quantumtraining.dev/job": job}
    meta = {"name": name, "namespace": "lab", "uid": uid, "resourceVersion": str(version), "labels": labels}
    return {"metadata": meta, "spec": {"containers": []}, **more}


def job(version: int, name: str = "qcnn") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "lab", "uid": name, "resourceVersion": str(version)}}


def version(cache: Cache, name: str = "qcnn-worker-0") -> str | None:
    known = cache.get(PODS, "lab", name)
    return None if known is None else str(known["metadata"]["resourceVersion"])


def names(cache: Cache, **labels: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in cache.select(PODS, "lab", labels)]


def texts(holder: object) -> set[str]:
    """All texts that an object keeps, however deep."""
    met: dict[int, object] = {}
    left = [holder]
    while left:
        each = left.pop()
        if id(each) not in met and not isinstance(each, type | Enum | FunctionType | ModuleType):
            met[id(each)] = each
            left += [*gc.get_referents(each), *(each if isinstance(each, dict) else ())]
    return {each for each in met.values() if isinstance(each, str)}


def test_an_older_state_never_replaces_a_newer_one() -> None:
    cache = Cache()

    news = [cache.put(PODS, pod(each)) for each in (5, 3, 5, 7)]

    assert news == [True, False, False, True]
    assert version(cache) == "7"


def test_a_state_from_before_the_end_of_an_object_does_not_bring_it_back() -> None:
    cache = Cache()
    cache.put(PODS, pod(5))
    cache.remove(PODS, pod(9))

    assert not cache.put(PODS, pod(8))
    assert version(cache) is None


def test_the_answer_to_a_creation_that_comes_after_the_end_of_the_object_does_not_bring_it_back() -> None:
    cache = Cache()

    assert not cache.remove(PODS, pod(9))
    assert not cache.put(PODS, pod(5))
    assert version(cache) is None


def test_the_end_of_an_object_is_not_that_of_its_successor() -> None:
    cache = Cache()
    cache.put(PODS, pod(12, uid="second"))

    assert not cache.remove(PODS, pod(9, uid="first"))
    cache.forget(PODS, pod(9, uid="first"))
    assert version(cache) == "12"


def test_an_object_whose_label_was_removed_and_put_back_is_there_again() -> None:
    cache = Cache()
    cache.put(PODS, pod(5))
    cache.remove(PODS, pod(9))

    assert cache.put(PODS, pod(11))
    assert version(cache) == "11"


def test_what_a_list_does_not_name_is_gone_unless_it_is_newer_than_the_list() -> None:
    cache = Cache()
    for number, name in enumerate(("gone", "kept", "written-since"), start=19):
        cache.put(PODS, pod(number, name, uid=name))

    news = cache.replace(PODS, [pod(20, "kept", uid="kept"), pod(18, "new", uid="new", job="other")], "20")

    assert sorted(names(cache)) == ["kept", "new", "written-since"]
    assert news == {("lab", "qcnn"), ("lab", "other")}, "for those something has changed"


def test_an_event_that_is_late_does_not_bring_back_what_a_list_did_not_name() -> None:
    cache = Cache()
    cache.replace(PODS, [], "20")

    assert not cache.put(PODS, pod(15))
    assert cache.put(PODS, pod(21))


def test_a_list_with_an_older_state_than_the_one_that_is_known_is_right() -> None:
    """etcd was restored from a backup with versions that go on (`--bump-revision`): what came after it is undone."""
    cache = Cache()
    cache.replace(PODS, [pod(10, phase="Running"), pod(12, "back", uid="back")], "20")
    cache.put(PODS, pod(25, phase="Succeeded"))
    cache.remove(PODS, pod(26, "back", uid="back"))

    news = cache.replace(PODS, [pod(10), pod(12, "back", uid="back")], "1000000")

    assert (version(cache), version(cache, "back")) == ("10", "12")
    assert news == {("lab", "qcnn")}


def test_a_list_does_not_undo_what_was_written_or_deleted_after_it() -> None:
    cache = Cache()
    cache.put(PODS, pod(25))
    cache.put(PODS, pod(11, "b", uid="b"))
    cache.forget(PODS, pod(11, "b", uid="b"))

    news = cache.replace(PODS, [pod(10), pod(11, "b", uid="b")], "20")

    assert (version(cache), version(cache, "b"), news) == ("25", None, set())


def test_a_list_names_the_job_that_has_lost_its_child_to_another_one() -> None:
    cache = Cache()
    cache.put(PODS, pod(1))

    assert cache.replace(PODS, [pod(2, job="other")], "3") == {("lab", "qcnn"), ("lab", "other")}


def test_objects_are_found_by_their_job_and_by_no_other() -> None:
    cache = Cache()
    cache.put(PODS, pod(1, "a", uid="a"))
    cache.put(PODS, pod(2, "b", uid="b", job="other"))

    assert names(cache, **{"quantumtraining.dev/job": "qcnn"}) == ["a"]
    assert names(cache, **{"quantumtraining.dev/job": "nobody"}) == []
    assert names(cache) == ["a", "b"]


def test_an_object_that_gets_the_label_of_another_job_is_that_jobs() -> None:
    cache = Cache()
    cache.put(PODS, pod(1))
    cache.put(PODS, pod(2, job="other"))

    assert names(cache, **{"quantumtraining.dev/job": "qcnn"}) == []
    assert names(cache, **{"quantumtraining.dev/job": "other"}) == ["qcnn-worker-0"]


def test_an_object_of_no_job_is_not_kept_for_no_event_would_tell_of_its_end() -> None:
    cache = Cache()

    assert not cache.put(PODS, pod(1, job=None))
    assert version(cache) is None


def test_it_is_filled_once_every_resource_was_listed_even_if_there_is_nothing() -> None:
    cache = Cache()
    filled = []
    for resource in AWAITED:
        filled.append(cache.is_filled())
        cache.replace(resource, [], "1")

    assert filled == [False] * len(AWAITED)
    assert cache.is_filled()


def test_nothing_is_left_of_what_is_gone_but_a_bounded_memory_of_uids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj_operator.controller.cache.MOST_GONE", 10)
    cache = Cache()
    for number in range(100):
        cache.put(PODS, pod(2 * number, str(number), uid=str(number)))
        cache.remove(PODS, pod(2 * number + 1, str(number), uid=str(number)))

    assert cache.has_lost_a_child(("lab", "qcnn")) is False
    kept = texts(cache)
    assert not kept & {"lab", "qcnn"}
    assert {text for text in kept if text.isdecimal()} == {str(number) for number in range(90, 100)}


def test_what_no_decision_reads_is_dropped_and_a_job_stays_whole_but_for_its_managed_fields() -> None:
    cache = Cache()
    status = {"phase": "Running", "hostIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True", "x": 1}]}
    bloated = pod(1, status=status)
    bloated["metadata"] |= {"managedFields": [{}], "annotations": {"a": "b"}, "finalizers": ["f"]}
    bloated["spec"] |= {"containers": [{"name": "trainer", "env": [{}]}], "volumes": [{}], "nodeName": "n"}
    cache.put(PODS, bloated)
    whole = {**job(1), "spec": {"anything": [1]}, "status": {"of": "a later version"}}
    whole["metadata"] |= {"managedFields": [{}], "annotations": {"a": "b"}}
    cache.put(JOBS, whole)

    kept = cache.get(PODS, "lab", "qcnn-worker-0")
    assert kept == {
        "metadata": {**pod(1)["metadata"], "finalizers": ["f"]},
        "spec": {"containers": [{"name": "trainer"}], "nodeName": "n"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    managed = whole["metadata"].pop("managedFields")
    assert managed == [{}]
    of_job = cache.get(JOBS, "lab", "qcnn")
    assert isinstance(of_job, PackedJob)
    assert of_job.unpacked() == whole
