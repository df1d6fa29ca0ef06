"""What the watches deliver is known, and the jobs concerned are looked at: no more often than something is new."""

import asyncio

from qtj_operator.controller.cache import AWAITED, Cache
from qtj_operator.controller.client import Key, Resource
from qtj_operator.controller.watch_handler import WatchHandler
from tests.controller.test_cache import job, pod

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS
KEY = ("lab", "qcnn")


def handled() -> tuple[WatchHandler, Cache, list[Key]]:
    cache, hints = Cache(), list[Key]()
    return WatchHandler(cache, hints.append), cache, hints


def test_a_job_is_looked_at_for_each_change_of_it_and_of_its_children() -> None:
    handler, _, hints = handled()

    handler.changed(JOBS, "ADDED", job(1))
    handler.changed(PODS, "ADDED", pod(2))
    handler.changed(PODS, "MODIFIED", pod(3))
    handler.changed(PODS, "DELETED", pod(4))

    assert hints == [KEY] * 4


def test_a_job_is_looked_at_when_its_child_gets_the_label_of_another_job() -> None:
    handler, _, hints = handled()
    handler.changed(PODS, "ADDED", pod(2))
    hints.clear()

    handler.changed(PODS, "MODIFIED", pod(3, job="other"))

    assert hints == [("lab", "other"), KEY]


def test_a_list_of_a_version_before_what_a_watch_has_delivered_replaces_everything() -> None:
    """etcd was restored from a backup that is later than the list before it."""
    handler, cache, hints = handled()
    handler.listed(PODS, [pod(1)], "5")
    handler.changed(PODS, "MODIFIED", pod(90))
    handler.changed(PODS, "ADDED", pod(91, "b", uid="b"))
    hints.clear()

    handler.listed(PODS, [pod(1)], "50")

    assert [obj["metadata"]["resourceVersion"] for obj in cache.select(PODS, "lab", {})] == ["1"]
    assert hints == [KEY]


def test_what_is_known_already_is_no_reason_to_look_again() -> None:
    handler, cache, hints = handled()
    cache.put(PODS, pod(3))

    handler.changed(PODS, "MODIFIED", pod(3))
    handler.changed(PODS, "DELETED", pod(4))
    handler.changed(PODS, "DELETED", pod(4))

    assert hints == [KEY]


def test_a_creation_is_no_news_if_its_answer_came_first() -> None:
    handler, cache, hints = handled()
    cache.put(PODS, pod(3))

    handler.changed(PODS, "ADDED", pod(3))
    handler.changed(PODS, "ADDED", pod(4, "another", uid="another"))

    assert hints == [KEY], "only that of the other pod, whose answer was lost"


def test_after_a_gap_the_jobs_are_looked_at_for_which_something_is_new() -> None:
    handler, _, hints = handled()
    handler.listed(PODS, [pod(1), pod(2, "b", uid="b", job="other")], "5")
    hints.clear()

    handler.listed(PODS, [pod(2, "b", uid="b", job="other")], "9")

    assert hints == [KEY]


async def test_nobody_decides_before_everything_was_listed_once() -> None:
    handler, _, _ = handled()
    waiting = asyncio.create_task(handler.filled())
    for resource in AWAITED:
        await asyncio.sleep(0)
        assert not waiting.done()
        assert not handler.is_filled
        handler.listed(resource, [], "1")

    await waiting
    assert handler.is_filled
