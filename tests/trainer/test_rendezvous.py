"""Processes meet before TensorFlow starts, in whatever order they come."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.run.cluster import Cluster, Member
from qtj_trainer.run.rendezvous import meet
from tests.trainer.processes import eventually, free_ports, listens


@pytest.fixture
def clusters() -> list[Cluster]:
    """The same three workers, as each of them sees it."""
    members = tuple(Member("worker", index, "127.0.0.1", port) for index, port in enumerate(free_ports(3)))
    return [Cluster(me, members) for me in members]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def ended(*meetings: Future[None]) -> bool:
    return all(meeting.result(10) is None for meeting in meetings)


def port_of(cluster: Cluster) -> int:
    assert cluster.me is not None
    return cluster.me.port


def test_nobody_goes_before_the_last_has_come(clusters: list[Cluster], pool: ThreadPoolExecutor) -> None:
    early = [pool.submit(meet, cluster) for cluster in clusters[:2]]
    time.sleep(0.5)
    assert not any(meeting.done() for meeting in early)

    last = pool.submit(meet, clusters[2])

    assert ended(*early, last)


def test_the_leader_may_come_last(clusters: list[Cluster], pool: ThreadPoolExecutor) -> None:
    followers = [pool.submit(meet, cluster) for cluster in clusters[1:]]
    eventually(lambda: listens(port_of(clusters[1])))

    assert ended(pool.submit(meet, clusters[0]), *followers)


def test_a_follower_that_went_away_is_awaited_again(clusters: list[Cluster], pool: ThreadPoolExecutor) -> None:
    with socket.create_server(("127.0.0.1", port_of(clusters[1]))) as doomed:
        leader = pool.submit(meet, clusters[0])
        connection, _ = doomed.accept()
        connection.sendall(b"here\n")
        connection.close()
    followers = [pool.submit(meet, cluster) for cluster in clusters[1:]]

    assert ended(leader, *followers)


def test_a_stranger_holds_up_nobody(clusters: list[Cluster], pool: ThreadPoolExecutor) -> None:
    follower = pool.submit(meet, clusters[1])
    eventually(lambda: listens(port_of(clusters[1])))

    with socket.create_connection(("127.0.0.1", port_of(clusters[1]))) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n")
        assert ended(pool.submit(meet, clusters[0]), follower, pool.submit(meet, clusters[2]))


def test_the_port_is_free_afterwards(clusters: list[Cluster], pool: ThreadPoolExecutor) -> None:
    assert ended(*[pool.submit(meet, cluster) for cluster in clusters])

    socket.create_server(("127.0.0.1", port_of(clusters[1]))).close()


def test_a_taken_port_is_named(clusters: list[Cluster]) -> None:
    port = port_of(clusters[1])

    with socket.create_server(("", port)), pytest.raises(UserError, match=f"worker 1 at 127.0.0.1:{port}"):
        meet(clusters[1])
