"""An API server that takes a connection and never answers: the sentence says that it was a timeout."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from kubernetes.aio import client as kubernetes

from qtj.cluster.request import events_in, read_log
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.leader import Lease
from qtj_operator.controller.client import ApiError, Resource
from qtj_operator.controller.metrics import Metrics


@pytest.fixture
async def transport() -> AsyncIterator[kubernetes.ApiClient]:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = kubernetes.ApiClient(kubernetes.Configuration(host=f"http://127.0.0.1:{silent.getsockname()[1]}"))
        yield client
        await client.close()


async def test_a_request_without_an_answer_ends_with_a_timeout(
    transport: kubernetes.ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.api.TIMEOUT_SECONDS", 0.1)

    with pytest.raises(ApiError) as refused:
        await ApiClient(transport, Metrics()).get(Resource.PODS, "lab", "a")

    assert (refused.value.code, refused.value.reason) == (0, "Unreachable")
    assert str(refused.value) == "the API server cannot be reached: timeout"


async def test_a_lease_without_an_answer_is_trouble_that_names_the_timeout(
    transport: kubernetes.ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_operator.cluster.leader.ANSWER_SECONDS", 0.1)
    lease = Lease("qtj-operator", "lab", "ours", transport)

    await lease.get("qtj-operator", "lab")

    assert lease.trouble is not None
    assert lease.trouble.sentence == (
        'cannot get Lease qtj-operator in namespace "lab": the API server cannot be reached: timeout;'
        " the operator keeps trying"
    )


async def test_events_without_an_answer_end_with_a_timeout(
    transport: kubernetes.ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj.cluster.request.SILENCE_SECONDS", 0.1)

    with pytest.raises(ApiError, match="the API server cannot be reached"):
        await events_in(transport, "lab")


async def test_a_log_without_an_answer_ends_with_a_timeout_unless_it_is_followed(
    transport: kubernetes.ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj.cluster.request.LOG_SILENCE_SECONDS", 0.1)

    with pytest.raises(ApiError, match="the API server cannot be reached"):
        await anext(read_log(transport, "lab", "a", "trainer"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await anext(read_log(transport, "lab", "a", "trainer", follow=True))
