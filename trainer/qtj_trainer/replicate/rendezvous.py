"""All processes of a cluster meet before any of them starts its part of TensorFlow's cluster.

A multi-worker strategy waits for its peers in C++ and holds Python's lock: no other thread runs, so the process cannot
react to SIGTERM or answer for its progress while a pod waits for a node. So the processes wait here, on the same ports,
before TensorFlow opens them:

    followers   listen, and answer each connection with a greeting that has their terms: what they are about to train
    leader      connects to each follower until all have greeted, then sends the start and the checkpoint to all of
                them; or, if the terms of one differ from its own, the reason why all of them end

A follower that loses its leader continues to listen. A leader that loses a follower connects again. Processes may meet
more than once: a follower stops listening before it closes the connection, and the leader waits for that.

It is written here because the barriers of libraries start after TensorFlow's cluster, which is the wait to avoid, or
need an extra server.
"""

import json
import logging
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from math import inf
from queue import SimpleQueue
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread

from qtj_contract.values import decoded
from qtj_trainer.errors import TryAgainError, UserError, cause_of
from qtj_trainer.listening import listening
from qtj_trainer.replicate.cluster import Cluster, Member

__all__ = ["Terms", "broadcast_from_leader", "difference", "meet"]

_HERE = b"here "
_GO = b"go "
_STOP = b"stop "
_LIMIT = 65_536
"""Bytes of a line, at most."""
_PAUSE = 0.2
"""Seconds between two attempts to reach missing processes."""
_TIMEOUT = 5.0
"""Seconds that one attempt may take."""
_PATIENCE = 10.0
"""Seconds until the leader logs which processes are missing."""
_LONGEST = 60
"""Characters of a term that are shown, at most."""
_ABSENT = "the default"

log = logging.getLogger("qtj_trainer")

Terms = Mapping[str, object]
"""What must be equal in all workers, as JSON values by the names that users know.

Each step averages the gradients of all workers. With other data or options in one worker, training would still finish,
but with weights that no record describes.
"""


def meet(cluster: Cluster, message: str = "", terms: Terms | None = None) -> str:
    """Waits for all processes with which this one trains, and logs when they have met.

    A coordinator does not wait until its servers call this function, but until they listen.

    Args:
        cluster: The processes that meet.
        message: The leader's message to all, one line; messages of followers are ignored.
        terms: Values that must be equal in all processes that take each step together.

    Returns:
        The message of the leader.

    Raises:
        UserError: If the port of this process is in use, or in all processes if the terms of one differ.
        TryAgainError: If a follower was lost after all had met.
    """
    if cluster.is_coordinated:
        _meet_servers(cluster)
    else:
        message = broadcast_from_leader(cluster, message, terms)
    if cluster.size > 1:
        log.info("all %d processes have met", cluster.size)
    return message


def broadcast_from_leader(cluster: Cluster, message: str = "", terms: Terms | None = None) -> str:
    """Returns the message of the leader, once every process of the cluster has called this function.

    Args:
        cluster: The processes that meet.
        message: The leader's message to all, one line; messages of followers are ignored.
        terms: Values that must be equal in all processes.

    Returns:
        The message of the leader.

    Raises:
        UserError: If the port of this process is in use, or in all processes if the terms of one differ.
        TryAgainError: If a follower was lost after all had met.
    """
    if cluster.leads:
        _gather(cluster.others, message, terms or {})
    elif cluster.me:
        return _follow(cluster.me, terms or {})
    return message


def _meet_servers(cluster: Cluster) -> None:
    """Waits until each server of a coordinator listens. The servers do not wait for it."""
    missing, log_at = set(cluster.others), time.monotonic() + _PATIENCE
    while missing := {each for each in missing if not _listens(each)}:
        log_at = _log_missing(missing, log_at)
        time.sleep(_PAUSE)


def _listens(member: Member) -> bool:
    try:
        socket.create_connection((member.host, member.port), _TIMEOUT).close()
    except OSError:
        return False
    return True


def _log_missing(missing: Iterable[Member], when: float) -> float:
    """Logs once, from the time `when` on, which processes are missing. Returns when to log them."""
    if time.monotonic() < when:
        return when
    log.info("waiting for %s", ", ".join(sorted(map(str, missing))))
    return inf


def _gather(followers: list[Member], message: str, terms: Terms) -> None:
    with ExitStack() as stack:
        log_at = time.monotonic() + _PATIENCE
        reached: dict[Member, socket.socket] = {}
        differences: dict[Member, str] = {}
        while missing := [each for each in followers if each not in reached or _is_closed(reached[each])]:
            for each in missing:
                with suppress(OSError):
                    connection, theirs = _reach(each)
                    reached[each] = stack.enter_context(connection)
                    differences[each] = difference(terms, theirs)
            log_at = _log_missing(missing, log_at)
            time.sleep(_PAUSE)
        refusal = next((f"{each} {text}" for each, text in differences.items() if text), "")
        line = _STOP + refusal.encode() if refusal else _GO + message.encode()
        for each, connection in reached.items():
            _send(each, connection, line + b"\n")
        for connection in reached.values():
            _wait_for_close(connection)
    if refusal:
        raise UserError(refusal)


def _reach(member: Member) -> tuple[socket.socket, Terms]:
    """Connects to a follower and waits for its greeting, which a proxy in front of it would not send."""
    connection = socket.create_connection((member.host, member.port), _TIMEOUT)
    try:
        with connection.makefile("rb") as stream:  # the follower sends only the greeting before the leader answers
            terms = _terms(stream.readline(_LIMIT))
        if terms is None:
            raise ConnectionError(f"{member} does not greet")
        connection.settimeout(0)  # from now on it is only polled
    except OSError:
        connection.close()
        raise
    return connection, terms


def _terms(greeting: bytes) -> Terms | None:
    if not (greeting.startswith(_HERE) and greeting.endswith(b"\n")):
        return None
    with suppress(ValueError):
        terms = decoded(greeting.removeprefix(_HERE))
        return terms if isinstance(terms, dict) else None
    return None


def _send(member: Member, connection: socket.socket, line: bytes) -> None:
    try:
        connection.sendall(line)
    except OSError as problem:
        raise TryAgainError(f"{member} was lost before training started: all have to start again") from problem


def _wait_for_close(connection: socket.socket) -> None:
    """Waits until a follower has stopped listening. Otherwise the next meeting could connect to this server."""
    connection.settimeout(_TIMEOUT)
    with suppress(OSError):
        connection.recv(1)


def _is_closed(connection: socket.socket) -> bool:
    """Returns whether the other side has closed the connection: then a read returns its end, otherwise nothing."""
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _follow(me: Member, terms: Terms) -> str:
    """Listens until the leader sends the start, and returns the leader's message."""
    received: SimpleQueue[tuple[bytes, socket.socket]] = SimpleQueue()
    closed = Event()

    class Greeting(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.wfile.write(_HERE + json.dumps(terms).encode() + b"\n")
                line = self.rfile.readline(_LIMIT)
                if line.startswith((_GO, _STOP)) and line.endswith(b"\n"):
                    received.put((line, self.connection))
                    closed.wait()

    try:
        server = _Server(me.port, Greeting)
    except OSError as problem:
        raise UserError(f"cannot listen as {me} ({cause_of(problem)}): free the port or use another one") from problem
    with server:
        Thread(target=server.serve_forever, args=(_PAUSE,), name="rendezvous", daemon=True).start()
        line, leader = received.get()
        server.shutdown()
    # Not by the thread of the connection: it does not run while TensorFlow connects, which holds Python's lock.
    with suppress(OSError):
        leader.shutdown(socket.SHUT_RDWR)
    closed.set()
    _, _, message = line.decode().rstrip("\n").partition(" ")
    if line.startswith(_STOP):
        raise UserError(message)
    return message


class _Server(ThreadingTCPServer):
    """Listens on all addresses of both IP versions. A connection that sends nothing does not delay others."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: type[StreamRequestHandler]) -> None:
        super().__init__(("", port), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening(port)


def difference(leader: Terms, follower: Terms) -> str:
    """Returns how a follower's terms differ, as a text that follows its name; empty if they do not.

    Args:
        leader: The terms of the leader.
        follower: The terms of the follower.
    """
    names = [name for name in {**leader, **follower} if _shown(leader, name) != _shown(follower, name)]
    parts = [f"{name} {_shown(follower, name)} where the leader has {_shown(leader, name)}" for name in names]
    return f"has {', '.join(parts)}: give all workers the same arguments and the same data" if parts else ""


def _shown(terms: Terms, name: str) -> str:
    if name not in terms:
        return _ABSENT
    text = json.dumps(terms[name])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
