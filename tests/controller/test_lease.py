"""The Lease, asked for by operators one by one: who gives it up takes it from nobody."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from kubernetes.aio import client as kubernetes
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord

from qtj_operator.cluster.leader import Lease
from tests.controller.api_objects import connected
from tools.api_server import ApiServer

NAME = "qtj-operator"


@pytest.fixture
async def transport(api_server: ApiServer) -> AsyncIterator[kubernetes.ApiClient]:
    client = connected(api_server.url, api_server.token).transport
    yield client
    await client.close()


def record(holder: str) -> LeaderElectionRecord:
    moment = "2030-01-01 12:00:00.000001"
    return LeaderElectionRecord(holder, "15", moment, moment)


async def takes(lease: Lease) -> bool:
    """Takes the Lease, whoever has it."""
    there, _ = await lease.get(NAME, lease.namespace)
    ask = lease.update if there else lease.create
    return await ask(NAME, lease.namespace, record(lease.identity))


async def holder(lease: Lease) -> str | None:
    _, found = await lease.get(NAME, lease.namespace)
    return found.holder_identity if isinstance(found, LeaderElectionRecord) else None


@pytest.fixture
def ours(namespace: str, transport: kubernetes.ApiClient) -> Lease:
    return Lease(NAME, namespace, "ours", transport)


@pytest.fixture
def theirs(namespace: str, transport: kubernetes.ApiClient) -> Lease:
    return Lease(NAME, namespace, "theirs", transport)


async def test_a_lease_that_is_ours_is_given_up(ours: Lease) -> None:
    assert await takes(ours)
    assert await takes(ours), "it was renewed"

    await ours.delete()

    assert await holder(ours) is None
    assert ours.trouble is None


async def test_a_lease_that_another_took_meanwhile_stays(ours: Lease, theirs: Lease) -> None:
    assert await takes(ours)
    assert await takes(theirs)

    await ours.delete()

    assert await holder(theirs) == "theirs"
    assert ours.trouble is None, "that another leads is no trouble"


async def test_a_lease_that_another_takes_while_it_is_given_up_stays(ours: Lease, theirs: Lease) -> None:
    for _ in range(20):
        assert await takes(ours)
        assert await holder(theirs) == "ours", "seen before it is given up"

        _, taken = await asyncio.gather(ours.delete(), theirs.update(NAME, theirs.namespace, record("theirs")))

        assert await holder(theirs) == ("theirs" if taken else None)


async def test_a_lease_that_is_gone_is_given_up(ours: Lease) -> None:
    await ours.delete()

    assert ours.trouble is None
