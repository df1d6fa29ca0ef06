"""Processes meet before TensorFlow starts, in any order of arrival."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import TypeVar

import pytest

from qtj_trainer.errors import TrainerError, UserError
from qtj_trainer.replicate.cluster import Cluster, Member
from qtj_trainer.replicate.rendezvous import Terms, meet
from tools.background import free_ports, listens, wait_until

T = TypeVar("T")


@pytest.fixture
def clusters() -> list[Cluster]:
    """The same three workers, as each of them sees it."""
    members = tuple(Member("worker", index, "127.0.0.1", port) for index, port in enumerate(free_ports(3)))
    return [Cluster(me, members) for me in members]


def meeting(cluster: Cluster, message: str = "", terms: Terms | None = None) -> Future[str]:
    """Starts a worker's part."""
    return started(partial(meet, cluster, message, terms))


def started(part: Callable[[], T]) -> Future[T]:
    """Runs in a daemon thread, so that a meeting that fails does not hold up the tests."""
    future: Future[T] = Future()

    def attend() -> None:
        try:
            future.set_result(part())
        except TrainerError as problem:
            future.set_exception(problem)

    Thread(target=attend, daemon=True).start()
    return future


def ended(*meetings: Future[str]) -> bool:
    return all(each.result(10) == "" for each in meetings)


def port_of(cluster: Cluster) -> int:
    assert cluster.me is not None
    return cluster.me.port


def test_no_process_starts_before_the_last_has_arrived(clusters: list[Cluster]) -> None:
    early = [meeting(cluster) for cluster in clusters[:2]]
    time.sleep(0.5)
    assert not any(each.done() for each in early)

    last = meeting(clusters[2])

    assert ended(*early, last)


def test_all_receive_the_message_of_the_leader(clusters: list[Cluster]) -> None:
    results = [meeting(cluster, message) for cluster, message in zip(clusters, ("mine", "theirs", ""), strict=True)]

    assert [each.result(10) for each in results] == ["mine"] * 3


def test_the_leader_may_come_last(clusters: list[Cluster]) -> None:
    followers = [meeting(cluster) for cluster in clusters[1:]]
    wait_until(lambda: listens(port_of(clusters[1])))

    assert ended(meeting(clusters[0]), *followers)


def test_a_follower_that_went_away_is_awaited_again(clusters: list[Cluster]) -> None:
    with socket.create_server(("127.0.0.1", port_of(clusters[1]))) as doomed:
        leader = meeting(clusters[0])
        connection, _ = doomed.accept()
        connection.sendall(b"here {}\n")
        connection.close()
    followers = [meeting(cluster) for cluster in clusters[1:]]

    assert ended(leader, *followers)


def test_a_foreign_connection_delays_no_process(clusters: list[Cluster]) -> None:
    follower = meeting(clusters[1])
    wait_until(lambda: listens(port_of(clusters[1])))

    with socket.create_connection(("127.0.0.1", port_of(clusters[1]))) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n")
        assert ended(meeting(clusters[0]), follower, meeting(clusters[2]))


def test_all_end_with_the_same_sentence_where_one_would_train_something_else(clusters: list[Cluster]) -> None:
    terms: list[Terms] = [
        {"--seed": 1, "--data-sha256": "a" * 64},
        {"--seed": 1, "--data-sha256": "a" * 64},
        {"--seed": 2},
    ]

    meetings = [meeting(cluster, "", each) for cluster, each in zip(clusters, terms, strict=True)]

    [message] = {str(each.exception(10)) for each in meetings}
    assert message == (
        f"worker 2 at 127.0.0.1:{port_of(clusters[2])} has --seed 2 where the leader has 1, --data-sha256 the default"
        f' where the leader has "{"a" * 59}...: give all workers the same arguments and the same data'
    )
    assert all(isinstance(each.exception(10), UserError) for each in meetings)


def test_all_start_if_their_terms_are_equal(clusters: list[Cluster]) -> None:
    terms: Terms = {"--learning-rate": 0.1, "model": "1f3c", "--data": "ä\n"}

    assert ended(*[meeting(cluster, "", terms) for cluster in clusters])


@pytest.mark.parametrize("greeting", [b"here comes nobody\n", b"here " + b"[" * 60_000 + b"\n"])
def test_a_stranger_that_greets_is_no_follower(clusters: list[Cluster], greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", port_of(clusters[1]))) as stranger:
        leader = meeting(clusters[0])
        connection, _ = stranger.accept()
        connection.sendall(greeting)
        connection.close()
    followers = [meeting(cluster) for cluster in clusters[1:]]

    assert ended(leader, *followers)


def test_the_port_is_free_afterwards(clusters: list[Cluster]) -> None:
    assert ended(*[meeting(cluster) for cluster in clusters])

    socket.create_server(("127.0.0.1", port_of(clusters[1]))).close()


def test_those_who_have_met_can_meet_again_at_once(clusters: list[Cluster]) -> None:
    def meet_twice(cluster: Cluster) -> list[str]:
        return [meet(cluster, message) for message in ("first", "second")]

    meetings = [started(partial(meet_twice, cluster)) for cluster in clusters]

    assert [each.result(30) for each in meetings] == [["first", "second"]] * 3


FOLLOWER = """
import ctypes
from qtj_trainer.replicate.cluster import Cluster, Member
from qtj_trainer.replicate.rendezvous import meet

members = (Member("worker", 0, "127.0.0.1", {leader}), Member("worker", 1, "127.0.0.1", {follower}))
meet(Cluster(members[1], members))
ctypes.PyDLL(None).sleep(8)  # with Python's lock held, as TensorFlow does while it connects
"""


def test_a_follower_that_holds_pythons_lock_after_the_meeting_does_not_delay_the_leader() -> None:
    ports = free_ports(2)
    members = tuple(Member("worker", index, "127.0.0.1", port) for index, port in enumerate(ports))
    program = FOLLOWER.format(leader=ports[0], follower=ports[1])
    with subprocess.Popen([sys.executable, "-c", program]) as follower:
        wait_until(lambda: listens(ports[1]))
        began = time.monotonic()

        meet(Cluster(members[0], members))

        took = time.monotonic() - began
        follower.kill()
    assert took < 4


def test_a_taken_port_is_named(clusters: list[Cluster]) -> None:
    port = port_of(clusters[1])

    with socket.create_server(("", port)), pytest.raises(UserError, match=f"worker 1 at 127.0.0.1:{port}"):
        meet(clusters[1])
