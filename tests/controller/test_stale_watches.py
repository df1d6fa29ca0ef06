"""Watches that could go wrong for good: a very large object, a server that was restored, a server that is busy."""

import asyncio

import pytest

from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError
from tests.controller.test_reflector import Front, a_service, front, fronted, watching
from tests.controller.waiting import soon

__all__ = ["front", "fronted"]


async def test_an_object_of_a_megabyte_is_one_event(front: Front, fronted: ApiClient) -> None:
    large = a_service("a", 12)
    large["spec"]["selector"] = {"app": "x" * 1_000_000}
    async with watching(fronted, "lab") as seen:
        front.events.put_nowait({"type": "ADDED", "object": large})
        front.events.put_nowait({"type": "ADDED", "object": a_service("b", 13)})
        await soon(seen.is_("a", "b"), "both")

    assert (front.lists, front.since) == (1, ["10"])


async def test_a_list_from_an_earlier_time_replaces_what_was_known(front: Front, fronted: ApiClient) -> None:
    """The API server has been restored from a backup, so its versions begin again at an earlier number."""
    front.version = 100
    front.objects = [a_service("a", 90), a_service("b", 91)]
    async with watching(fronted, "lab") as seen:
        await soon(seen.is_("a", "b"), "the first list")
        front.objects, front.version = [a_service("a", 20), a_service("c", 21)], 30
        front.events.put_nowait({"type": "ERROR", "object": {"code": 504, "message": "Too large resource version"}})
        front.events.put_nowait(None)
        await soon(seen.is_("a", "c"), "the second list")
        front.events.put_nowait({"type": "MODIFIED", "object": a_service("d", 31)})
        await soon(seen.is_("a", "c", "d"), "what follows")


async def test_a_watch_of_a_version_that_the_server_does_not_have_ends_with_a_list(
    front: Front, fronted: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kube-apiserver accepts it, and is silent."""
    monkeypatch.setattr("qtj_operator.cluster.api.SILENCE_SECONDS", 0.1)
    monkeypatch.setattr("qtj_operator.cluster.reflector.UNHEARD_SECONDS", 0.3)
    front.version, front.objects = 100, [a_service("a", 90)]
    async with watching(fronted, "lab") as seen:
        await soon(seen.is_("a"), "the first list")
        front.version, front.objects = 30, [a_service("b", 20)]
        await soon(seen.is_("b"), "the second list")

    assert front.since[:2] == ["100", "100"], "it is asked for again before that"


async def test_a_watch_that_fails_again_and_again_is_asked_for_less_and_less_often(
    front: Front, fronted: ApiClient
) -> None:
    """Each try costs a list of all objects."""
    pauses: list[float] = []
    reflector = watching(fronted, "lab")
    async with reflector as seen:
        await soon(lambda: front.since == ["10"], "a watch")
        pauses = [seen.reflector.failed(ApiError(500, "InternalError", "no")) for _ in range(20)]
        busy = seen.reflector.failed(ApiError(429, "TooManyRequests", "busy", retry_after=7))

    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[1]) == (0.01, 0.02)
    assert pauses[-1] == 0.01 * 2**10
    assert busy == 7


async def test_a_proxy_that_ends_every_watch_at_once_is_asked_after_a_pause(
    front: Front, fronted: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.reflector.PAUSE_SECONDS", 60)
    for _ in range(3):
        front.events.put_nowait(None)
    async with watching(fronted, "lab"):
        await soon(lambda: front.since == ["10"] and front.events.qsize() == 2, "the first watch")
        await asyncio.sleep(0.3)

    assert front.since == ["10"]


async def test_an_answer_that_is_not_json_is_no_end_of_the_watch(front: Front, fronted: ApiClient) -> None:
    front.page = "<html>log in</html>"
    async with watching(fronted, "lab") as seen:
        await soon(lambda: front.lists >= 2, "another try")
        front.page, front.objects = None, [a_service("a", 9)]
        await soon(seen.is_("a"), "the list")


async def test_other_tasks_have_their_turn_while_many_events_arrive_at_once(front: Front, fronted: ApiClient) -> None:
    front.burst = [{"type": "ADDED", "object": a_service(f"s{number:03}", 20 + number)} for number in range(500)]
    async with watching(fronted, "lab") as seen:
        front.events.put_nowait(None)
        most = before = 0
        while len(seen.hints) < len(front.burst):
            await asyncio.sleep(0)
            most, before = max(most, len(seen.hints) - before), len(seen.hints)

    assert most <= 20


@pytest.mark.parametrize("code", [403, 429, 503])
async def test_a_server_that_refuses_or_is_too_busy_is_not_asked_for_a_list_as_well(
    front: Front, fronted: ApiClient, code: int
) -> None:
    async with watching(fronted, "lab"):
        front.events.put_nowait({"type": "ERROR", "object": {"code": code, "message": "too many requests"}})
        await soon(lambda: len(front.since) >= 2, "another watch")

    assert front.lists == 1
