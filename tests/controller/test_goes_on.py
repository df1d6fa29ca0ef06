"""Errors of our own or of a library, outside of the passes, do not end the operator."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from qtj_operator.cluster import reflector, scope
from qtj_operator.cluster.scope import run_again
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.runtime import Runtime
from tests.controller.lab import Lab
from tests.controller.waiting import soon


async def test_what_ended_with_an_error_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "AGAIN_SECONDS", 0.0)
    errors: list[Exception] = [RecursionError(), KeyError("metadata")]

    async def run() -> None:
        if errors:
            raise errors.pop()

    await asyncio.wait_for(run_again(run, "the watch of jobs"), 5)
    assert errors == []


async def test_what_the_api_server_refuses_for_good_ends_the_operator() -> None:
    async def run() -> None:
        raise ApiError(404, "NotFound", "the CRD is gone")

    with pytest.raises(ApiError, match="the CRD is gone"):
        await run_again(run, "the watch of jobs")


class OnePoisoned:
    """A handler that one object makes fail, and an API server that lists it first."""

    def __init__(self) -> None:
        self.fed: list[str] = []
        self.lists = 0

    async def pages(self, *_: Any) -> AsyncIterator[tuple[Sequence[Object], str]]:
        self.lists += 1
        yield [], str(self.lists)

    async def watch(self, *_: Any) -> AsyncIterator[Object]:
        yield {"type": "ADDED", "object": {"metadata": {"name": "other", "resourceVersion": "9"}}}
        await asyncio.sleep(60)

    def listed(self, *_: Any) -> None:
        if self.lists == 1:
            raise RecursionError

    def changed(self, _resource: Resource, _kind: str, obj: Object) -> None:
        self.fed.append(obj["metadata"]["name"])


async def test_a_watch_of_children_that_an_object_has_ended_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "LONGEST_PAUSE_SECONDS", 0.0)
    world: Any = OnePoisoned()
    task = asyncio.create_task(reflector.Reflector(world, Resource.PODS, None, world).run())
    try:
        await soon(lambda: world.fed == ["other"], "the event after the error")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_resync_that_fails_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj_operator.controller.runtime.RESYNC_SECONDS", 0.01)
    lab, asked = Lab(), list[None]()

    async def listed(*_: Any, **__: Any) -> Sequence[Object]:
        asked.append(None)
        if len(asked) == 1:
            raise RecursionError
        return []

    client: Any = SimpleNamespace(list=listed)
    runtime = Runtime(
        client, lab.reconciler.reconcile, WorkQueue(), None, jobs=lab.jobs, metrics=lab.reconciler.metrics
    )
    task = asyncio.create_task(runtime.run())
    try:
        await soon(lambda: len(asked) > 1, "another list")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
