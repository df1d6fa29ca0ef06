"""Watches that could go wrong for good: a very large object, a server that was restored, a server that is busy."""

import asyncio

import pytest

from qtj_operator.cluster.api import ApiClient
from tests.controller.test_reflector import Front, a_service, front, fronted, soon, watching

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
