"""All processes of a cluster meet before any of them starts its part of TensorFlow's cluster.

A multi-worker strategy waits for its peers inside C++ and keeps Python's lock meanwhile: no other thread runs, so that
the process answers neither SIGTERM nor a question for its progress, for as long as a pod waits for a node. Hence this
waiting is done here, on the same ports and before TensorFlow opens them:

    followers   listen, and greet whoever connects with their terms: what they are about to train
    leader      connects to each follower until all have greeted, then tells all to go, and from which checkpoint;
                or, where the terms of one are not its own, why all of them end

A follower without its leader goes on listening. A leader whose follower went away connects again.

Written here because every barrier of a library starts after TensorFlow's cluster has, which is the wait to avoid, or
needs a server of its own.
"""

import json
import logging
import socket
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from math import inf
from queue import SimpleQueue
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.replicate.cluster import Cluster, Member
from qtj_trainer.replicate.terms import Terms, difference

__all__ = ["meet", "meet_servers"]

_HERE = b"here "
_GO = b"go "
_STOP = b"stop "
_LIMIT = 65_536
"""Bytes of a line."""
_PAUSE = 0.2
"""Seconds between two attempts to reach who is missing."""
_TIMEOUT = 5.0
"""Seconds one attempt may take."""
_PATIENCE = 10.0
"""Seconds until the leader says for whom it waits."""

log = logging.getLogger("qtj_trainer")


def meet(cluster: Cluster, word: str = "", terms: Terms | None = None) -> str:
    """Returns when every process of the cluster has called it.

    Args:
        cluster: Who meets.
        word: What the leader has to say to all, one line; that of others is not heard.
        terms: What all must have alike.

    Returns:
        The word of the leader.

    Raises:
        UserError: If the port of this process is taken, or in all processes if the terms of one differ.
        TryAgainError: If a follower went away after all had come.
    """
    if cluster.leads:
        _gather(cluster.others, word, terms or {})
    elif cluster.me:
        return _follow(cluster.me, terms or {})
    return word


def meet_servers(cluster: Cluster) -> None:
    """Returns when each server of a coordinator has been seen to listen. They do not wait for it."""
    missing, told = set(cluster.others), time.monotonic() + _PATIENCE
    while missing := {each for each in missing if not _listens(each)}:
        told = _tell(missing, told)
        time.sleep(_PAUSE)


def _listens(member: Member) -> bool:
    try:
        socket.create_connection((member.host, member.port), _TIMEOUT).close()
    except OSError:
        return False
    return True


def _tell(missing: Iterable[Member], when: float) -> float:
    """Says for whom this process waits, once and not at first. Returns when to say so."""
    if time.monotonic() < when:
        return when
    log.info("waiting for %s", ", ".join(sorted(map(str, missing))))
    return inf


def _gather(followers: list[Member], word: str, terms: Terms) -> None:
    with ExitStack() as stack:
        told = time.monotonic() + _PATIENCE
        reached: dict[Member, socket.socket] = {}
        differences: dict[Member, str] = {}
        while missing := [each for each in followers if each not in reached or _gone(reached[each])]:
            for each in missing:
                with suppress(OSError):
                    connection, theirs = _reach(each)
                    reached[each] = stack.enter_context(connection)
                    differences[each] = difference(terms, theirs)
            told = _tell(missing, told)
            time.sleep(_PAUSE)
        refusal = next((f"{each} {said}" for each, said in differences.items() if said), "")
        line = _STOP + refusal.encode() if refusal else _GO + word.encode()
        for each, connection in reached.items():
            _send(each, connection, line + b"\n")
    if refusal:
        raise UserError(refusal)


def _reach(member: Member) -> tuple[socket.socket, Terms]:
    """Connects to a follower and waits for its greeting, which a proxy before it would not give."""
    connection = socket.create_connection((member.host, member.port), _TIMEOUT)
    try:
        with connection.makefile("rb") as stream:  # nothing follows the greeting before the leader speaks
            terms = _terms(stream.readline(_LIMIT))
        if terms is None:
            raise ConnectionError(f"{member} does not greet")
        connection.settimeout(0)  # from now on it is only looked at
    except OSError:
        connection.close()
        raise
    return connection, terms


def _terms(greeting: bytes) -> Terms | None:
    if not (greeting.startswith(_HERE) and greeting.endswith(b"\n")):
        return None
    with suppress(ValueError):
        said = json.loads(greeting.removeprefix(_HERE))
        return said if isinstance(said, dict) else None
    return None


def _send(member: Member, connection: socket.socket, line: bytes) -> None:
    try:
        connection.sendall(line)
    except OSError as problem:
        raise TryAgainError(f"{member} went away before training began: all have to start again") from problem


def _gone(connection: socket.socket) -> bool:
    """Tells whether the other side has closed: then there is an end to read, otherwise nothing."""
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _follow(me: Member, terms: Terms) -> str:
    """Listens until the leader says go, and returns what else it says."""
    heard: SimpleQueue[bytes] = SimpleQueue()

    class Greeting(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.wfile.write(_HERE + json.dumps(terms).encode() + b"\n")
                line = self.rfile.readline(_LIMIT)
                if line.startswith((_GO, _STOP)) and line.endswith(b"\n"):
                    heard.put(line)

    try:
        server = _Server(me.port, Greeting)
    except OSError as problem:
        raise UserError(f"cannot listen as {me} ({problem.strerror}): free the port or name another") from problem
    with server:
        Thread(target=server.serve_forever, args=(_PAUSE,), name="rendezvous", daemon=True).start()
        line = heard.get()
        server.shutdown()
    _, _, said = line.decode().rstrip("\n").partition(" ")
    if line.startswith(_STOP):
        raise UserError(said)
    return said


class _Server(ThreadingTCPServer):
    """Listens on all addresses of both IP versions; strangers who connect and say nothing hold up nobody."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: type[StreamRequestHandler]) -> None:
        super().__init__(("", port), handler, bind_and_activate=False)
        self.socket.close()
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        self.socket = socket.create_server(("", port), family=family, dualstack_ipv6=both)
